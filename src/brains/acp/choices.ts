import {
  type ClientContext,
  methods,
  RequestError,
  type SessionConfigOption,
  type SetSessionConfigOptionRequest,
} from "@agentclientprotocol/sdk";
import * as texts from "./texts.ts";

/**
 * Sets the model and the effort of the agent in its program, by the options that the program offers for a conversation. Returns
 * a sentence for each that could not be set: the person who chose it must know.
 */
export async function chooseIn(
  agent: Pick<ClientContext, "request">,
  of: {
    readonly command: string;
    readonly sessionId: string;
    readonly offered: readonly SessionConfigOption[];
    readonly model: string | null;
    readonly effort: string | null;
  },
): Promise<string[]> {
  const { command, sessionId, model, effort } = of;
  let { offered } = of;
  const problems: string[] = [];

  /** A program may take a value for another one that it knows, so what it says afterwards counts. */
  const set = async (option: SessionConfigOption, value: string): Promise<boolean> => {
    if (option.currentValue === value) return true;
    try {
      const request: SetSessionConfigOptionRequest = { sessionId, configId: option.id, value };
      offered = (await agent.request(methods.agent.session.setConfigOption, request)).configOptions;
      return offered.some(({ id, currentValue }) => id === option.id && currentValue === value);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return false;
    }
  };

  if (model !== null) {
    const option = offered.find(({ category, id }) => (category ?? id) === "model");
    // A program may know more models than it lists. Some older ones have a request of their own.
    const isSet =
      option === undefined
        ? await setByOldRequest(agent, sessionId, model)
        : await set(option, valueFor(option, [model]) ?? model);
    if (!isSet) problems.push(texts.modelNotSet(command, model, namesIn(option)));
  }
  if (effort !== null) {
    // What one effort makes possible depends on the model, so it is looked up after the model was set.
    const option = offered.find(({ category, id }) => (category ?? id) === "thought_level");
    const value = option && valueFor(option, effort === "max" ? ["max", "xhigh"] : [effort]);
    if (option === undefined || value === undefined || !(await set(option, value)))
      problems.push(texts.effortNotSet(command, effort, namesIn(option)));
  }
  return problems;
}

/** Before options there was a request for the model alone. Gemini has only that. */
async function setByOldRequest(
  agent: Pick<ClientContext, "request">,
  sessionId: string,
  modelId: string,
): Promise<boolean> {
  try {
    await agent.request("session/set_model", { sessionId, modelId });
    return true;
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return false;
  }
}

/** The first of these that an option offers, by its value or by its name. OpenCode puts the provider before a model: `openai/gpt-5.1`. */
function valueFor(option: SessionConfigOption, wanted: readonly string[]): string | undefined {
  const offered = valuesOf(option);
  for (const one of wanted) {
    const isNamed = ({ value, name }: (typeof offered)[number]): boolean =>
      value === one || name.toLowerCase() === one.toLowerCase();
    const ofProviders = offered.filter(({ value }) => value.endsWith(`/${one}`));
    // Of two providers, the program's own choice would be a guess.
    const found = offered.find(isNamed) ?? (ofProviders.length === 1 ? ofProviders[0] : undefined);
    if (found !== undefined) return found.value;
  }
  return undefined;
}

const namesIn = (option: SessionConfigOption | undefined): string[] =>
  option === undefined ? [] : valuesOf(option).map(({ value }) => value);

function valuesOf(option: SessionConfigOption): { value: string; name: string }[] {
  return option.type === "select"
    ? option.options.flatMap((one) => ("options" in one ? one.options : [one]))
    : [];
}
