import {
  type ClientContext,
  methods,
  RequestError,
  type SessionConfigOption,
  type SetSessionConfigOptionRequest,
} from "@agentclientprotocol/sdk";
import * as texts from "./texts.ts";

/**
 * Sets the model and the effort of the agent in its program, through the options that the program offers for a conversation.
 * Returns a sentence for each option that could not be set: the person who chose it must know.
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

  /** A program may replace a value by another one that it knows, so the values it reports afterwards count. */
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
    // A program may know more models than it lists. Some older programs have a separate request for the model.
    const isSet =
      option === undefined
        ? await setByOldRequest(agent, sessionId, model)
        : await set(option, valueFor(option, [model]) ?? model);
    if (!isSet) problems.push(texts.modelNotSet(command, model, namesIn(option)));
  }
  if (effort !== null) {
    // The possible efforts depend on the model, so they are looked up after the model was set.
    const option = offered.find(({ category, id }) => (category ?? id) === "thought_level");
    const value = option && valueFor(option, effort === "max" ? ["max", "xhigh"] : [effort]);
    if (option === undefined || value === undefined || !(await set(option, value)))
      problems.push(texts.effortNotSet(command, effort, namesIn(option)));
  }
  return problems;
}

/** Before there were options, a request set the model alone. Gemini has only that request. */
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

/**
 * The first of these values that an option offers, by value or by name. OpenCode puts the provider before a model:
 * `openai/gpt-5.1`.
 */
function valueFor(option: SessionConfigOption, wanted: readonly string[]): string | undefined {
  const offered = valuesOf(option);
  for (const one of wanted) {
    const isNamed = ({ value, name }: (typeof offered)[number]): boolean =>
      value === one || name.toLowerCase() === one.toLowerCase();
    const ofProviders = offered.filter(({ value }) => value.endsWith(`/${one}`));
    // With two providers, the choice would be a guess.
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
