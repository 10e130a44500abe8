// Goal: a failure that a provider reports in place of choices is an error for clients of every format, never the end of a
// good answer, whatever form it has and also where [DONE] follows. One row a form.
import { chunk, DONE, eventOf, ROLE, USAGE_CHUNK, type Wire } from '../support/wires/wire.ts'
import { wireTable } from '../support/wires/wireTable.ts'

const FORMS: [name: string, failure: object][] = [
  ['an error', { error: { message: 'worker died', code: 500 } }],
  ['a text as the error', { error: 'worker died' }],
  ['an error of vLLM', { object: 'error', message: 'worker died', type: 'InternalServerError', code: 500 }],
  ['an error of Anthropic without its member', { type: 'error', message: 'worker died' }],
  ['a detail', { detail: 'worker died' }],
  ['details', { detail: [{ msg: 'worker died' }] }],
  ['a status', { code: 503, message: 'worker died' }],
  ['a status beside no choices', { choices: [], error: { message: 'worker died' } }],
  ['a status under another name', { status_code: 500, msg: 'worker died' }],
  ['an error beside no choices', { choices: [], x_groq: { error: 'worker died' } }],
  ['a code in words', { code: 'InternalError', message: 'worker died', request_id: 'r' }],
  ['an error of Qianfan', { error_code: 336000, error_msg: 'worker died' }],
  ['no success', { success: false, message: 'worker died' }],
]
const text = (failure: object) => `data: ${JSON.stringify(failure)}\n\n`
const streamed = FORMS.flatMap(([name, failure]): Wire[] => [
  {
    name: `${name} after output`,
    stream: ROLE + chunk({ content: 'It is ' }) + text(failure) + DONE,
    want: { status: 'partial', tokens: 'estimated' },
  },
  { name: `${name} before output`, stream: ROLE + text(failure) + DONE, want: { status: 'refused' } },
])
const whole = FORMS.map(
  ([name, failure]): Wire => ({ name, whole: JSON.stringify(failure), want: { status: 'refused' } }),
)

/** Events without choices that report nothing of the kind. */
const OTHERS: Wire[] = [
  { type: 'ping' },
  { status: 'completed', code: 0 },
  { message: 'hello', success: true },
  { code: 200, detail: '' },
  { code: 'Success', message: 'hello' },
].map((event) => ({
  name: `${JSON.stringify(event)} is no failure`,
  stream: ROLE + text(event) + chunk({ content: 'It is 4.' }) + chunk({}, 'stop') + eventOf(event) + USAGE_CHUNK + DONE,
  want: { text: 'It is 4.' },
}))

wireTable([...streamed, ...whole, ...OTHERS])
