import { ERRORS } from '../../dist/contract/errors/errors.js'
import { code, page, table } from './markdown.mjs'

const CHARGED = {
  false: 'nothing',
  partial: 'the part of the stream that was produced',
  billed: 'what the upstream of the tool billed',
  earlier: 'what was charged when the result was made',
}
// A provider may answer with any 4xx of its own there.
const ANY_CLIENT_STATUS = 'or the 4xx of the provider'

function retryAdvice({ retryable, statuses }) {
  if (!retryable && statuses.includes(503) && statuses.some((status) => status < 500))
    return 'As 503, retry after `Retry-After` seconds; else do not retry the same request, but change it first'
  if (!retryable) return 'Do not retry the same request; change it first'
  if (statuses.some((status) => status === 429 || status === 503))
    return 'Retry after `Retry-After` seconds, then with exponential backoff'
  return 'Retry with exponential backoff'
}

function statusText({ statuses, anyClientStatus }) {
  return anyClientStatus ? `${statuses.join(', ')} ${ANY_CLIENT_STATUS}` : statuses.join(', ')
}

function section([name, row]) {
  return [
    `### ${name}`,
    row.message,
    ...(row.publicCode === null
      ? ['The member `error.code` is null; `error.message` says what is wrong and `error.param` names the field.']
      : []),
    `HTTP ${statusText(row)}, ${code(row.type)}. Charged: ${CHARGED[row.charged]}. ${retryAdvice(row)}.`,
  ]
}

/** docs/reference/errors.md: an anchor for each code. */
export function errorsPage() {
  const rows = Object.entries(ERRORS).sort(([a], [b]) => (a < b ? -1 : 1))
  const byStatus = new Map()
  for (const [name, { statuses }] of rows) byStatus.set(statuses[0], [...(byStatus.get(statuses[0]) ?? []), name])
  const statuses = [...byStatus].sort(([a], [b]) => a - b)
  return page('Errors', '`contract/errors/`', [
    'Every error that a client can see. An error is JSON in the OpenAI shape, with the HTTP status of its section:',
    '```json\n{\n  "type": "error",\n  "error": {\n    "message": "A spending cap is reached; raise it or wait until its hour, day or month ends.",\n    "type": "insufficient_quota",\n    "code": "spend_limit_exceeded",\n    "param": null\n  },\n  "request_id": "req_01M7XYRFYGQPFJENN1XKKZF8K0"\n}\n```',
    'The section of an error is `errors.md#CODE`, with the code of `error.code`. `message` says what to change; it may be more precise than the text here. `param` names the field at fault.',
    '## Retry and backoff',
    'The header `x-should-retry: true` says that the same request may be sent again; official OpenAI and Anthropic SDKs obey it. Answers with status 429 (rate limit) and 503 (overloaded, draining) have `Retry-After` in seconds: wait that long, then retry with exponential backoff and jitter. A request that failed before its answer was charged nothing, so a retry is never paid for twice; "Charged" names the exceptions. Send an `Idempotency-Key` with changes of the account, so that a retry does not apply them twice.',
    '## Codes by HTTP status',
    table(
      ['status', 'codes'],
      statuses.map(([status, names]) => [status, names.map((name) => `[${name}](#${name})`).join(', ')]),
    ),
    '## Codes',
    ...rows.map(section),
  ])
}
