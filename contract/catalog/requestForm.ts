/** How a provider wants its requests, where that is not as usual. */
export interface RequestForm {
  /** Members that it refuses. */
  readonly omit: readonly string[]
  /** Members beyond the usual ones that it takes. */
  readonly extra: readonly string[]
  /** The member that says whether and how much to think; '' passes on reasoning_effort alone. */
  readonly thinking: string
  /** It takes system messages at the beginning alone, as one. */
  readonly systemFirst: boolean
  /** It does not know the role `developer`. */
  readonly developerAsSystem: boolean
  /** Ids of tool calls are of so many letters and digits; 0 for ids of any form. */
  readonly callIdCharacters: number
  /** The most stop sequences of a request; 0 is STOPS_USUAL. */
  readonly stopSequencesMax: number
  /** It refuses the member of a streamed request that asks for usage. */
  readonly refusesStreamOptions: boolean
}

/** As many stop sequences as OpenAI takes, which refuses more (https://platform.openai.com/docs/api-reference/chat/create). */
export const STOPS_USUAL = 4

/**
 * Members of chat completions that some providers take beyond the usual ones: structured output and sampling of inference
 * servers, predicted output, and the tags of the request.
 */
export const BODY_MEMBERS: readonly string[] = [
  'structured_outputs',
  'guided_json',
  'guided_regex',
  'guided_choice',
  'guided_grammar',
  'prediction',
  'top_a',
  'typical_p',
  'min_tokens',
  'stop_token_ids',
  'bad_words',
  'include_stop_str_in_output',
  'skip_special_tokens',
  'length_penalty',
  'metadata',
]

/** Members of requests for vectors and ranks that some providers take: the use of a text, and the handling of a long one. */
export const VECTOR_MEMBERS: readonly string[] = [
  'input_type',
  'task',
  'truncate',
  'truncation',
  'truncate_prompt_tokens',
]

/**
 * The member of a tool call, or of a message without one, that a provider wants back with it: Gemini refuses a history whose calls
 * lack the signature that is in it, and recommends that of messages (https://ai.google.dev/gemini-api/docs/thought-signatures).
 */
export const CALL_MEMBER = 'extra_content'

/**
 * The member of the assistant's messages that a provider wants back: thinking models of DeepSeek and Moonshot refuse a history with
 * tool calls that lacks their reasoning (https://api-docs.deepseek.com/guides/thinking_mode).
 */
export const REASONING_MEMBER = 'reasoning_content'

/**
 * The marks of Messages requests up to which a prompt is kept in the cache. Without it in its form, a provider gets those of texts and
 * media of the user alone, which are lists anyway.
 */
export const CACHE_MEMBER = 'cache_control'

/** The members that a provider can be said to take. The schema of the catalog lists the same. */
export const EXTRA_MEMBERS: readonly string[] = [
  ...BODY_MEMBERS,
  ...VECTOR_MEMBERS,
  CALL_MEMBER,
  REASONING_MEMBER,
  CACHE_MEMBER,
]
