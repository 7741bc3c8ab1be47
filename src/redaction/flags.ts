import { testFor } from "./names.ts";
import { couldBeKey, type Span } from "./values.ts";

/** A word of a command line at a position in the text, or an element of an argument list at an index. */
interface Word {
  readonly text: string;
  readonly at: number;
}

/**
 * Finds secrets among the words of a command: after a flag whose name means a secret (`--pat x`), by the program
 * (`mysql -pPw`), and beside a user (`-u me -p Pw`). Returns the span of the secret within each word.
 */
export function secretsOfCommand(words: readonly Word[], program = ""): { word: Word; span: Span }[] {
  const found: { word: Word; span: Span }[] = [];
  const hide = (word: Word | undefined, from = 0): void => {
    const secret = word?.text.slice(from) ?? "";
    const quotes = /^(["']).+\1$/s.test(secret) ? 1 : 0;
    if (word !== undefined && secret !== "" && !/^["']?(?:\$|\{\{|<|%[A-Z]|\[redacted)/.test(secret))
      found.push({ word, span: [from + quotes, word.text.length - quotes] });
  };
  let running = program;
  let hasUser = false;
  for (const [index, word] of words.entries()) {
    const { text } = word;
    const next = words[index + 1] ?? { text: "", at: -1 };
    const [flag, rest] = [text.slice(0, 2), text.slice(2)];
    if (/^(?:[;|&]+|sudo|env|exec|time)$/.test(text)) [running, hasUser] = ["", false];
    else if (running === "" && !text.includes("=")) running = text;
    const short = passwordFlags.find(([programs]) => programs.test(running))?.[1].includes(flag) === true;
    const isNamed = testFor(text, "tight")?.(next.text) === true && !/^(?:--|-[A-Za-z]$)/.test(next.text);
    if (!text.startsWith("-")) {
      hasUser ||= text === "login";
      if (/^(?:pass|\/p):/.test(text)) hide(word, text.indexOf(":") + 1);
      else if (isNamed && setters.test(running)) hide(next);
    } else if (short) {
      if (rest !== "") hide(word, 2);
      else if (!onlyAttached.test(running)) hide(next);
    } else if (userFlag.test(text) && loginAt(next.text) > 0) {
      hasUser = true;
      hide(next, loginAt(next.text));
    } else if (isNamed && isName.test(text)) hide(next);
    else if (userFlag.test(text) || /^(?:-[uU].|--(?:user|username|proxy-user|auth)=)/.test(text)) {
      hasUser = true;
      const [lead] = /^(?:-[uU]|--[\w-]+=)/.exec(text) ?? [""];
      const login = loginAt(text.slice(lead.length));
      if (login > 0 && lead !== "") hide(word, lead.length + login);
    } else if (/^-[pP]$/.test(flag)) {
      if (rest === "" && hasUser && !isPort.test(next.text)) hide(next);
      else if (!isPort.test(rest) && (hasUser ? !/^[a-z]{3,}$/.test(rest) : couldBeKey(rest))) hide(word, 2);
    }
  }
  const isLast = words.some(({ text }) => /^(?:-\w*b\w*|add_user|change_password)$/.test(text));
  if (isLast && /^(?:htpasswd|rabbitmqctl)$/.test(running)) hide(words.at(-1));
  return found;
}

/** Programs that take a password with a short flag. */
const passwordFlags: readonly (readonly [programs: RegExp, flags: string])[] = [
  [/(?:^|\/)(?:mysql\w*|mariadb[\w-]*|mycli|7z[ar]*|rar|unrar|sshpass|mongo\w*)$/, "-p"],
  [/(?:^|\/)(?:unzip|zip|sqlcmd|bcp|osql|isql|tsql)$/, "-P"],
  [/(?:^|\/)redis-cli$/, "-a"],
  [/(?:^|\/)openssl$/, "-k"],
  [/(?:^|\/)ldap\w+$/, "-w"],
  [/(?:^|\/)snmp\w+$/, "-A-X"],
];
const onlyAttached = /(?:mysql\w*|mariadb[\w-]*|mycli)$/;
/** Commands and Dockerfile lines that set a name to the next word: `aws configure set aws_secret_access_key x`. */
const setters = /^(?:ENV|ARG|setx?|setenv|aws|npm|yarn|pnpm|git|gcloud|config|heroku|fly|vault|requirepass)$/;
const userFlag = /^(?:-[uUa]|--(?:user|proxy-user|auth|username|basic|login))$/;
const isName = /^(?:--[A-Za-z][\w.-]*|-[a-z][a-z-]+|-[a-z]{2,}(?:[A-Z][a-z]+)+|-(?:[A-Z][a-z]{2,})+)$/;
/** A port, a port mapping, a path, or another flag. */
const isPort = /^(?:[\d.:/-]*(?:tcp|udp)?|[./~-].*)$/;

/** Where the password begins in `user:password` or `user%password`. Returns 0 for anything else, such as `1000:1000`. */
function loginAt(word: string): number {
  const [, user = "", password = ""] = /^(["']?[^\s:%/]*[:%])(.+)$/s.exec(word) ?? [];
  return /^\d{1,6}$/.test(password) ? 0 : user.length;
}
