import type { ModelApi } from "../brains/brain.ts";

/**
 * The rules for the content of a request. Each API has a list of fields and tools that stay between the session and the model,
 * and cost only tokens. Everything else is refused by its name, so a field that a provider adds tomorrow opens nothing.
 */
export interface Judged {
  /** Phrases for parts that need the internet or are stored at the provider. An agent with `net:*` may ask for them. */
  readonly outside: readonly string[];
  /** Phrases for parts that no agent may ask for, because their cost or effect is not known. */
  readonly refused: readonly string[];
  readonly media: Media;
}

/** The parts of a request that are not text. A model does not read them letter by letter. */
export interface Media {
  readonly images: number;
  /** How many characters of the request are images. */
  readonly imageLetters: number;
  /** Whether the request has or names anything else, such as a PDF: a few letters may be many pages. */
  readonly hasFiles: boolean;
}

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const listed = (...lines: readonly string[]): ReadonlySet<string> => new Set(lines.join(" ").split(" "));

interface ApiRules {
  readonly fields: ReadonlySet<string>;
  /** A tool that the caller runs itself. */
  readonly isOwnTool: (tool: Fields) => boolean;
}

const rules: Readonly<Record<ModelApi, ApiRules>> = {
  messages: {
    fields: listed(
      "model messages system tools tool_choice max_tokens stream stop_sequences temperature top_k top_p",
      "thinking output_config output_format context_management cache_control metadata service_tier speed",
    ),
    isOwnTool: ({ type }) =>
      type === undefined ||
      type === null ||
      (typeof type === "string" && /^(custom|function|(bash|text_editor|memory|computer)_\d{8})$/.test(type)),
  },
  responses: {
    fields: listed(
      "model input instructions tools tool_choice parallel_tool_calls max_output_tokens max_tool_calls stream stream_options",
      "reasoning text include store temperature top_p top_logprobs truncation",
      "prompt_cache_key prompt_cache_retention prompt_cache_options safety_identifier user metadata client_metadata service_tier",
    ),
    // The tools in a namespace are judged separately.
    isOwnTool: ({ type }) =>
      ["function", "custom", "local_shell", "tool_search", "namespace"].includes(String(type)),
  },
  chat: {
    fields: listed(
      "model messages tools tool_choice parallel_tool_calls functions function_call n max_tokens max_completion_tokens",
      "stream stream_options stop temperature top_p presence_penalty frequency_penalty logit_bias logprobs top_logprobs",
      "response_format seed reasoning_effort verbosity store prompt_cache_key prompt_cache_retention prompt_cache_options",
      "safety_identifier user metadata service_tier",
      // Fields of local servers.
      "top_k min_p top_a typical_p repeat_penalty repetition_penalty repeat_last_n length_penalty min_tokens stop_token_ids",
      "chat_template_kwargs enable_thinking thinking think reasoning include_reasoning reasoning_format cache_prompt keep_alive",
      "grammar json_schema guided_json guided_regex guided_choice guided_grammar structured_outputs",
      "add_generation_prompt continue_final_message skip_special_tokens ignore_eos timings_per_token ttl",
    ),
    isOwnTool: ({ type, function: declared }) =>
      type === "function" || type === "custom" || (type === undefined && isFields(declared)),
  },
};

/** Fields that reach out of the session, each with a phrase for the refusal. */
const reaching = new Map([
  ["mcp_servers", "MCP servers of the provider"],
  ["conversation", "a conversation that is stored at the provider"],
  ["previous_response_id", "an answer that is stored at the provider"],
  ["prompt", "a prompt that is stored at the provider"],
]);

/** Tools that a provider runs cost more than tokens, and its answers don't report how much. */
const unpriced = new Map([
  ["container", "a container at the provider, which has no known price"],
  ["web_search_options", "a search of the web by the provider, which has no known price"],
  ["plugins", "plugins of the provider, which have no known price"],
  ["background", "work in the background, whose cost the gateway never sees"],
]);

const serverTools = "tools that run at the provider, which have no known price";
const fetched = "content from an address";
const keptFile = "a file that is stored at the provider";

/** Fields whose values are words of a person, a model or a tool. A provider follows no address in them. */
const words = listed(
  "text content thinking reasoning reasoning_content reasoning_details reasoning_text refusal instructions system input output",
  "name title description definition context arguments signature encrypted_content role type id call_id tool_call_id",
  "tool_use_id model user stop stop_sequences prompt_cache_key safety_identifier phase status",
);
/** Fields in a closed format that a provider passes to the model or returns, and never follows. */
const sealed = listed(
  "input_schema input_examples parameters schema json_schema metadata client_metadata arguments annotations citations logit_bias action",
  "chat_template_kwargs guided_json guided_regex guided_choice guided_grammar structured_outputs grammar",
);

/** Blocks that hold one image each. */
const imageTypes = new Set<unknown>(["image", "input_image", "image_url", "computer_screenshot"]);
/** Fields whose values are files, or names of files that the provider has. */
const fileFields = listed("data file_data file_id file_ids file_url images");
/** Objects whose `data` is text. */
const textTypes = new Set<unknown>(["text", "redacted_thinking"]);

/** The number of letters of an image that is in the request itself. */
function lettersOf({ source, image_url: url }: Fields): number {
  const at = isFields(url) ? url["url"] : url;
  if (typeof at === "string") return /^data:image\//i.test(at) ? at.length : 0;
  const { type, data } = isFields(source) ? source : {};
  return type === "base64" && typeof data === "string" ? data.length : 0;
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== false;

export function judgeRequest(api: ModelApi, body: Fields): Judged {
  const { fields, isOwnTool } = rules[api];
  const [outside, refused] = [new Set<string>(), new Set<string>()];
  const media = { images: 0, imageLetters: 0, hasFiles: false };
  for (const [field, value] of Object.entries(body)) {
    const [phrase, dear] = [reaching.get(field), unpriced.get(field)];
    if (dear !== undefined) {
      if (isSet(value) && !isEmpty(value)) refused.add(dear);
    } else if (phrase !== undefined) {
      if (isSet(value) && !isEmpty(value)) outside.add(phrase);
    } else if (!fields.has(field)) refused.add(`the field "${field}"`);
    else if (isSet(value) && !sealed.has(field)) walk(field, value);
  }
  if (isSet(body["store"])) outside.add("storing the request");
  if (isDearer(body["service_tier"], ["auto", "default", "standard_only", "flex"]))
    refused.add(`the service tier ${JSON.stringify(body["service_tier"])}, which has no known price`);
  if (isDearer(body["speed"], ["standard"]))
    refused.add(`the speed ${JSON.stringify(body["speed"])}, which has no known price`);
  if (api === "messages" && compacts(body["context_management"]))
    refused.add("a summary that the provider writes, which is not in its figures");
  return { outside: [...outside], refused: [...refused], media };

  /** `field` is the name under which the value is found, also within a list. `isCounted` marks text and parts of an image. */
  function walk(field: string, value: unknown, isCounted = false): void {
    if (typeof value === "string") {
      if (leadsOut(field, value)) outside.add(fetched);
      if (/^file_ids?$/.test(field)) outside.add(keptFile);
      const isFile = fileFields.has(field) || (!words.has(field) && /^\s*data:/i.test(value));
      if (isFile && !isCounted) media.hasFiles = true;
    } else if (Array.isArray(value)) {
      if (field === "tools" && !value.every((tool) => isFields(tool) && isOwnTool(tool)))
        refused.add(serverTools);
      for (const one of value) walk(field, one, isCounted);
    } else if (isFields(value)) {
      const { type } = value;
      // The type of a reference may be left out.
      const isBare = field === "input" && "id" in value && type === undefined && value["role"] === undefined;
      if (type === "item_reference" || isBare) outside.add("an item that is stored at the provider");
      const isImage = imageTypes.has(type);
      if (isImage) {
        media.images += 1;
        media.imageLetters += lettersOf(value);
      }
      for (const [name, part] of Object.entries(value)) {
        const isOfTool = name === "input" && String(type).endsWith("tool_use");
        // This value says where the text is from.
        const isOrigin = name === "source" && type === "search_result" && typeof part === "string";
        if (!sealed.has(name) && !isOfTool && !isOrigin)
          walk(name, part, isCounted || isImage || (textTypes.has(type) && typeof part === "string"));
      }
    }
  }
}

/**
 * Whether a value points out of the request. The value of an address field either holds the content itself (`data:`) or points
 * out. In other fields, only a value that is entirely an address does.
 */
function leadsOut(field: string, value: string): boolean {
  if (/ur[il]s?$/i.test(field)) return !/^\s*(data:|$)/i.test(value);
  return !words.has(field) && /^\s*([a-z][a-z0-9+.-]*:)?\/\//i.test(value) && !inBase64.test(value);
}

/** Some audio in base64 begins with `//`, like an address. But every host name on the internet has a dot. */
const inBase64 = /^[a-z0-9+/=\s]*$/i;

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
const isDearer = (value: unknown, usual: readonly string[]): boolean =>
  isSet(value) && !usual.includes(String(value));

/** Edits that only leave out content begin with `clear_`. */
function compacts(management: unknown): boolean {
  const edits = isFields(management) ? management["edits"] : undefined;
  return (
    Array.isArray(edits) &&
    !edits.every((edit) => isFields(edit) && String(edit["type"]).startsWith("clear_"))
  );
}
