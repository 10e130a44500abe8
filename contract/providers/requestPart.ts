/** A part of a history, or the answer that it begins, without which a provider may take a request. */
type ConversationPart =
  | 'thoughts'
  | 'images'
  | 'documents'
  | 'prefill'
  | 'unreasonedCalls'
  | 'laterInstructions'
  | 'cacheMarks'
  | 'citations'

/**
 * A demand on a model that some models refuse: to call a tool, to show its thinking, not to think, to think where it has tools, to
 * think with an effort above `xhigh` or above `high`, and how the arguments of a tool are written.
 */
type Demand =
  | 'forcedCalls'
  | 'shownThoughts'
  | 'thinkingOff'
  | 'toolThoughts'
  | 'maxEffort'
  | 'topEffort'
  | 'toolMembers'

/**
 * The members of requests that some models refuse, in the names of chats and of the Messages format: those that say how an answer
 * is drawn, where it stops, whether calls are made together, what is said of its tokens, how much to think, and for whom and how
 * long the answer is.
 */
export const PART_MEMBERS = {
  sampling: ['temperature', 'top_p', 'top_k', 'presence_penalty', 'frequency_penalty'],
  stops: ['stop', 'stop_sequences'],
  parallelCalls: ['parallel_tool_calls'],
  tokenOdds: ['logprobs', 'top_logprobs', 'logit_bias'],
  effort: ['reasoning_effort'],
  hints: ['prompt_cache_key', 'safety_identifier', 'verbosity', 'user'],
} as const

/** A part without which a provider may take a request. */
export type RequestPart = ConversationPart | Demand | keyof typeof PART_MEMBERS

/** The members of the parts that are left out. */
export function membersOf(leavesOut: readonly RequestPart[]): readonly string[] {
  return leavesOut.flatMap((part) => (part in PART_MEMBERS ? PART_MEMBERS[part as keyof typeof PART_MEMBERS] : []))
}

/** Providers say first what is wrong; what follows may be the request. */
export const SENTENCE_CHARACTERS_MAX = 300

/** Members of a tool: to follow its schema exactly, and to send its arguments before they are complete. */
const TOOL_MEMBER = '(?:eager_input_streaming|\\btools\\b[^:;]{0,40}\\bstrict)\\b'

/** Words before an effort that is refused. */
const REFUSED =
  "(?:unknown variant|(?:unsupported|invalid)(?: \\w+){0,2}|received|'input'|not support|unrecognized|unmapped [\\w ]{1,20})\\W{1,4}"
const XHIGH = `${REFUSED}\\bxhigh\\b`
const MAX = `${REFUSED}(?<=['"\`])max(?=['"\`])`
/** The efforts that a model takes, without `xhigh`, where a sentence about an effort lists them. */
const EFFORT = '(?:none|minimal|low|medium|max)'
const BETWEEN = '\\W{1,6}(?:(?:or|and)\\W{1,4})?'
const UP_TO_HIGH =
  `\\b(?:be|of|are|values|levels|expected)${BETWEEN}(?:${EFFORT}${BETWEEN})*high\\b(?:${BETWEEN}${EFFORT}\\b)*` +
  `(?!${BETWEEN}(?:${EFFORT}|x?high)\\b)`

/** Words in which providers refuse a part of a request. */
const PARTS: Readonly<Record<RequestPart, readonly RegExp[]>> = {
  thoughts: [
    /invalid \W?(?:signature|data)\W? in \W?(?:redacted_)?thinking\b/i,
    /must start with a thinking block/i,
    /(?:redacted_)?thinking\W? (?:or \W?redacted_thinking\W? )?blocks?[^.]{0,40} cannot be modified/i,
    /\bproperty [^ ]{0,80}\breasoning(?:_content)?\W is unsupported/i,
  ],
  images: [
    /\bimages?\b[^.]{0,60} (?:exceeds?|too large|larger than)\b/i,
    /(?:could not|cannot|failed to|unable to) (?:process|decode|download|load|read|extract|identify)\b[^.]{0,30}\bimage/i,
    /(?:invalid|unsupported|corrupt(?:ed)?|valid)\b[^.]{0,20} image\b/i,
    /unknown variant \W?image/i,
    /(?:not|n't) (?:support|accept|allow)[^.]{0,30}\b(?:images?|image_url|vision)\b/i,
    /\bimage(?:s|_url)?\b[^.]{0,30} (?:only|not) (?:supported|allowed|accepted)/i,
    /too much media/i,
    /no endpoints found that support image/i,
  ],
  documents: [
    /\bPDFs?\b[^.]{0,80}\b(?:not valid|invalid|password|encrypted|exceeds?|larger|too (?:large|many)|corrupt|damaged|empty)/i,
    /(?:could not|cannot|failed to|unable to) (?:process|parse|read|open|load)\b[^.]{0,30}\b(?:PDF|document)/i,
    /(?:invalid|unsupported|corrupt(?:ed)?|maximum of \d+)[^.]{0,20} (?:PDF|document)/i,
    /(?:not|n't) (?:support|accept|allow)[^.]{0,30}\b(?:PDFs?|documents?|files?)\b/i,
    /unknown variant \W?(?:file|document)/i,
  ],
  // Claude since 4.6, Bedrock, Mistral and llama.cpp.
  prefill: [
    /(?:not|n't) (?:support|accept|allow)[^.]{0,30}\bprefill/i,
    /\bprefill(?:ing|ed)?\b[^.]{0,40} (?:not (?:supported|allowed)|unsupported|incompatible)/i,
    /\b(?:conversation|request|messages|prompt)\b[^.]{0,30} must end (?:with|in) (?:a |the )?\W?user\b/i,
    /\bexpected last role user\b/i,
    /\blast (?:message|turn|role)\b[^.]{0,40}\b(?:must|should|has to)\b[^.]{0,30}\buser\b/i,
    /cannot have \d+ or more assistant messages at the end/i,
  ],
  // Thinking models of DeepSeek, Moonshot and those that serve theirs.
  unreasonedCalls: [
    /\breasoning_content\b[^.]{0,40} must be passed back\b/i,
    /\breasoning_content is missing in assistant tool call\b/i,
  ],
  // Claude since Opus 5.5; Anthropic while a model thinks; thinking models of DeepSeek, Qwen and Moonshot; Bedrock.
  forcedCalls: [
    /\btool_choice\b[^.]{0,80} (?:not (?:support(?:ed)?|allowed)|unsupported|incompatible)\b/i,
    /(?:not|n't) support[^,]{0,40}\btool_?choice\b/i,
    /thinking may not be enabled when tool_choice forces/i,
  ],
  shownThoughts: [
    /\bthinking\b.{0,20}\bdisplay\b.{0,60}(?:extra inputs|not (?:permitted|allowed|supported)|unsupported|unknown|unrecognized)/i,
    /(?:unknown|unrecognized|unexpected) (?:field|parameter|key)\W{0,3}(?:thinking\.)?display\b/i,
  ],
  thinkingOff: [
    /\bthinking\.type\.disabled\b[^.]{0,10} (?:is )?(?:not supported|unsupported)/i,
    /\bthinking\b[^.]{0,40} (?:cannot|can't|can not) be (?:disabled|turned off)/i,
  ],
  // OpenAI since GPT-5.4, whose models think with tools in the other format alone.
  toolThoughts: [/\btools with reasoning_effort are not supported\b/i],
  // By models that take the effort below it.
  maxEffort: [
    new RegExp(`(?:${MAX}|\\blevel\\W{1,3}max\\W{1,2} ?(?:is )?not supported).{0,200}\\bxhigh\\b`, 'i'),
    new RegExp(`\\bxhigh\\b.{0,80}${MAX}`, 'i'),
  ],
  topEffort: [
    new RegExp(`${XHIGH}|${MAX}`, 'i'),
    new RegExp(`(?:effort|reasoning value)\\b.{0,120}${UP_TO_HIGH}`, 'i'),
    /\beffort\b[^,]{0,30} (?:not|n't) support \W?(?:xhigh|max)\b/i,
    /(?:not|n't) support (?:the )?effort (?:level )?\W?(?:xhigh|max)\b/i,
    /(?:effort|\blevel)\W{1,3}(?:xhigh|max)\W{1,2} ?(?:is )?not supported\b/i,
    /\boutput_config\b\S{0,10}\beffort\b.{0,10}\binput should be\b(?!.{0,80}\bxhigh\b)/i,
  ],
  // Copilot, Bedrock, and servers that read a format by a schema of their own.
  toolMembers: [
    new RegExp(`${TOOL_MEMBER}(?!\\.).{0,60}(?:extra inputs|not (?:permitted|allowed|supported)|unsupported)`, 'i'),
    new RegExp(`extra inputs are not permitted, field: .{0,60}${TOOL_MEMBER}`, 'i'),
    new RegExp(`(?:unsupported|unknown|unrecognized|unexpected)\\b[^,]{0,40}${TOOL_MEMBER}`, 'i'),
  ],
  // Claude before Opus 4.8 and at clouds, and servers that read the format by a schema of their own.
  laterInstructions: [
    /\brole \W?system\W? is not supported\b/i,
    /\bunexpected role \W{0,2}system\b/i,
    /\brole\b[^.]{0,10} unknown variant \W?system\b/i,
    /\binput should be \W?user\W? or \W?assistant\b/i,
    // MiniMax and others.
    /\b(?:invalid|unsupported|unknown) (?:message )?role\b\W{0,4}system\b/i,
    /\brole\b[^.]{0,30} (?:must|should) be (?:one of )?\W{0,2}user\W{1,3}(?:or |and |, )?\W?assistant\b/i,
  ],
  // With a schema for the answer, or with some of the documents alone.
  citations: [/\bcitations\b[^.]{0,40} (?:cannot|can not|must) be (?:enabled|disabled)/i],
  cacheMarks: [
    /\bcache_control\b(?!\.).{0,60}(?:extra inputs|not (?:permitted|allowed|supported)|unsupported|unknown|unrecognized)/i,
    /extra inputs are not permitted, field: .{0,120}\bcache_control\b/i,
    /(?:unsupported|unknown|unrecognized)\b[^,]{0,60}\bcache_control\b/i,
    /maximum of \d+ blocks with cache_control/i,
  ],
  sampling: [
    /\b(?:temperature|top_p|top_k|(?:presence|frequency)_penalty)\W[^.]{0,40} (?:deprecated|not supported?|unsupported|cannot both|not allowed)\b/i,
    /unsupported (?:value|parameter)\W{1,4}(?:temperature|top_p|top_k|(?:presence|frequency)_penalty)\b/i,
  ],
  stops: refusalsOf('stop_sequences|(?<=[\'"`])stop(?=[\'"`])'),
  parallelCalls: refusalsOf('parallel_tool_calls'),
  tokenOdds: refusalsOf('(?:top_)?logprobs|logit_bias'),
  effort: [
    ...refusalsOf('reasoning_effort|reasoning\\.effort'),
    /(?:not|n't) support (?:the )?\W?effort\W? parameter/i,
    /\boutput_config(?:\.effort)?\W{0,3}(?:extra inputs|(?:is )?not (?:permitted|allowed|supported))/i,
  ],
  // Members that Codex and SDKs send unasked, which Gemini and strict servers do not know.
  hints: refusalsOf(`prompt_cache_key|safety_identifier|verbosity|(?<=['"\`])user(?=['"\`])`),
}

/** The sentences in which providers refuse a member, rather than its value. @param names as a pattern */
function refusalsOf(names: string): readonly RegExp[] {
  return [
    new RegExp(`\\b(?:${names})['"\`]? (?:is|are|was) (?:not supported|unsupported|deprecated)\\b`, 'i'),
    new RegExp(
      `(?:unsupported|unrecognized|unknown) (?:request )?(?:parameter|argument)[^.[]{0,20}[^\\w.](?:${names})\\b`,
      'i',
    ),
    new RegExp(`\\b(?:${names})\\b\\W{1,6}(?:msg\\W{1,6})?(?:extra inputs are not permitted|cannot find field)`, 'i'),
    new RegExp(
      `(?:extra inputs are not permitted, field: |unknown (?:name|field|property) )\\W{0,2}(?:${names})\\b`,
      'i',
    ),
  ]
}

/** The part of a request that a provider's error refuses; undefined for none. */
export function refusedPart(message: string): RequestPart | undefined {
  const sentence = message.slice(0, SENTENCE_CHARACTERS_MAX)
  return (Object.keys(PARTS) as RequestPart[]).find((part) => PARTS[part].some((pattern) => pattern.test(sentence)))
}
