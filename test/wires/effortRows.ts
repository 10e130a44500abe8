// Efforts above `high` that a model refuses: sentences of providers, as their users have reported them (CLIProxyAPI 1307 and 1572,
// quotio 287).
import { CHAT, type Row } from './demandRows.ts'

const TOP = { max_tokens: 100, thinking: { type: 'adaptive' } }
const MESSAGES = { ...CHAT, from: 'messages' } as const
const RESPONSES = { ...CHAT, from: 'responses' } as const
const SGLANG =
  "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'xhigh'}"

/** The refused effort, by the client that sends it, and the one that the model gets then. */
const refused = (effort: string, instead: string) => ({
  refused: `"${effort}"`,
  instead: `"reasoning_effort":"${instead}"`,
  dropped: null,
})
const ofChats = (effort: string, instead: string, sentence: string): Row => ({
  ...CHAT,
  ...refused(effort, instead),
  sentence,
  body: { reasoning_effort: effort },
})
const ofMessages = (effort: string, instead: string, sentence: string): Row => ({
  ...MESSAGES,
  ...refused(effort, instead),
  sentence,
  body: { ...TOP, output_config: { effort } },
})
const ofResponses = (effort: string, instead: string, sentence: string): Row => ({
  ...RESPONSES,
  ...refused(effort, instead),
  sentence,
  body: { input: 'hi', reasoning: { effort } },
})

/** The table. */
export const EFFORTS: readonly Row[] = [
  ofMessages('xhigh', 'high', SGLANG),
  ofMessages('max', 'high', SGLANG.replace("'xhigh'", "'max'")),
  ofMessages('max', 'xhigh', 'level "max" not supported, valid levels: low, medium, high, xhigh'),
  ofMessages(
    'max',
    'xhigh',
    "Invalid value: 'max'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', and 'xhigh'.",
  ),
  ofMessages(
    'xhigh',
    'high',
    'Failed to deserialize the JSON body: reasoning_effort: unknown variant `xhigh`, expected one of `low`, `medium`, `high`, `max`',
  ),
  ofMessages('max', 'high', '`reasoning_effort` must be one of `low`, `medium`, or `high`'),
  ofChats(
    'xhigh',
    'high',
    "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'.",
  ),
  ofChats('xhigh', 'high', 'invalid reasoning value: \'xhigh\' (must be "high", "medium", "low", or "none")'),
  ofChats(
    'max',
    'xhigh',
    "reasoning_effort: Input should be 'none', 'minimal', 'low', 'medium', 'high' or 'xhigh', received 'max'",
  ),
  ofResponses(
    'xhigh',
    'high',
    "Unsupported value: 'xhigh' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.",
  ),
  ofResponses(
    'xhigh',
    'high',
    "Validation error for `reasoning_effort`: expected one of `'low' | 'medium' | 'high'`, received `'xhigh'`.",
  ),
  {
    ...CHAT,
    to: 'thinks',
    sentence: "Unsupported value: 'xhigh' is not supported with the 'm' model.",
    body: { reasoning_effort: 'xhigh' },
    refused: '"xhigh"',
    instead: '"reasoning":{"effort":"high"}',
    dropped: null,
  },
  {
    ...CHAT,
    to: 'thinks',
    sentence: 'reasoning_effort is not supported by this model',
    body: { reasoning_effort: 'low' },
    refused: '"reasoning"',
    dropped: 'reasoning_effort',
  },
]
