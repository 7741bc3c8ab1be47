/**
 * Names are compared in two ways. `nameKey` is for a reader who types a name and means the same letters. `lookOf` is for names
 * that only look the same: two of them must not exist at the same time, because a reader could not tell them apart.
 */
export function nameKey(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\p{Default_Ignorable_Code_Point}+/gu, "")
    .replace(/\s+/gu, " ")
    .trim();
}

/** Pairs of a letter and the Latin letter or digit it looks like, in most typefaces. Capitals first: some differ from small letters. */
const lookAlikes = new Map(
  [
    "АaВbЕeЅsІiЈjКkМmНhОoРpСcТtУyХxҮyԚqԜwӀi",
    "аaвbеeѕsіiјjкkмmнhоoрpсcтtуyхxүyһhԁdԛqԝwӏiгrпnиuьbзe",
    "ΑaΒbΕeΖzΗhΙiΚkΜmΝnΟoΡpΤtΥyΧx",
    "αaβbεeηnιiκkνvοoρpσoτtυuχxωwγy",
    "ᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkʟiᴍmɴnᴏoᴘpʀrꜱsᴛtᴜuᴠvᴡwʏyᴢzɑaɡgıiɩiøoØođdłiŁi",
    "ոnօoսuցgհhᎪaᎬeᎻhᎷmᏚsᎢtᏃzᏢpᏒrᏴbᏀgᏙvᎳw",
    // Within the Latin script, these look like each other.
    "0o1i|i",
  ].flatMap((pairs) => {
    const letters = [...pairs];
    return letters.flatMap((letter, at) => (at % 2 === 0 ? [[letter, letters[at + 1] ?? ""] as const] : []));
  }),
);

/** A name as a reader sees it at a glance: letters that look like Latin ones are replaced by these. */
export function lookOf(name: string): string {
  return nameKey([...name.normalize("NFKC")].map((letter) => lookAlikes.get(letter) ?? letter).join(""))
    .replaceAll("l", "i")
    .replaceAll("rn", "m")
    .replaceAll("vv", "w");
}

/** Alphabets with letters that look like each other. A name in two of them is almost always made to deceive. */
const alphabets = {
  Latin: /\p{Script=Latin}/u,
  Cyrillic: /\p{Script=Cyrillic}/u,
  Greek: /\p{Script=Greek}/u,
  Armenian: /\p{Script=Armenian}/u,
  Cherokee: /\p{Script=Cherokee}/u,
};

export function alphabetsIn(name: string): string[] {
  return Object.entries(alphabets).flatMap(([alphabet, letters]) => (letters.test(name) ? [alphabet] : []));
}
