import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { ScriptedProvider } from '../providers/scriptedProvider.ts'
import { type Stack, startStack } from '../stack.ts'
import { USAGE, type Want, type Wire } from './wire.ts'
import { type Ask, type Got, ReceiptTap, wireClients } from './wireClients.ts'

type Format = 'chat' | 'messages' | 'responses' | 'completions'
const FORMATS = ['chat', 'messages', 'responses'] as const
const MODEL = 'test/wire'
const MADE_ID = /^call_[0-9A-Z]+_\d+$/

/**
 * Has official clients of each format ask for every shape, streamed and in one piece where the shape says what the provider
 * sends then, and compares what they got, and the receipts.
 */
export function wireTable(wires: readonly Wire[], formats: readonly Format[] = FORMATS): void {
  const tap = new ReceiptTap()
  let provider: ScriptedProvider
  let stack: Stack | undefined
  let clients: Record<string, Ask>

  before(async () => {
    provider = await ScriptedProvider.start({
      wire: (response, body) => {
        const place = Number(/wire (\d+)/.exec(JSON.stringify(body['messages'] ?? body['prompt']))?.[1])
        send(response, wires[place], body['stream'] === true)
      },
    })
    stack = await startStack({
      limits: { breakerFailures: 10_000 },
      catalog: {
        providers: [{ id: 'wire', base_url: provider.url }],
        models: [
          {
            id: MODEL,
            endpoints: [...FORMATS, 'completions'],
            thinking: 'effort',
            routes: [{ provider: 'wire', model: 'wire' }],
          },
        ],
      },
    })
    const { apiKey } = await stack.createAccount({ credits: '100' })
    clients = wireClients(stack.baseUrl, apiKey, tap)
  })

  after(async () => {
    await provider.stop()
    await stack?.finish()
  })

  for (const [place, wire] of wires.entries()) {
    for (const format of formats) {
      for (const isStream of [true, false]) {
        if ((isStream ? wire.stream : wire.whole) === undefined) continue
        test(`${wire.name}: ${format}, ${isStream ? 'streamed' : 'in one piece'}`, async () => {
          const ask = clients[format]
          assert.ok(ask !== undefined)
          await check(format, wire.want, () => ask(MODEL, `wire ${place}`, isStream), tap)
        })
      }
    }
  }
}

function send(response: ServerResponse, wire: Wire | undefined, isStream: boolean): void {
  const text = isStream ? wire?.stream : wire?.whole
  const type = isStream ? (wire?.streamType ?? 'text/event-stream') : (wire?.wholeType ?? 'application/json')
  response.writeHead(200, { 'content-type': type })
  const bytes = Buffer.from(text ?? '')
  const step = wire?.writeBytes ?? bytes.length
  for (let at = 0; at < bytes.length; at += step) response.write(bytes.subarray(at, at + step))
  if (wire?.cut === true) response.write('', () => response.destroy())
  else response.end()
}

async function check(format: string, want: Want, ask: () => Promise<Got>, tap: ReceiptTap): Promise<void> {
  const status = want.status ?? 'ok'
  if (status === 'ok') compare(format, want, await ask())
  else await assert.rejects(ask)
  const { receipt } = tap
  if (status === 'refused') {
    assert.equal(receipt, undefined)
    return
  }
  assert.equal(receipt?.status, status)
  assert.equal(receipt.error, status === 'ok' ? null : 'stream_interrupted')
  const { tokens = [USAGE.prompt_tokens, USAGE.completion_tokens] } = want
  if (tokens === 'estimated') assert.equal(receipt.usage_source, 'estimated')
  else {
    const { prompt_tokens: prompt, completion_tokens: output } = receipt.usage
    assert.deepEqual([prompt, output, receipt.usage_source], [...tokens, 'reported'])
    assert.equal(Number(receipt.cost.units), prompt * 1_000 + output * 2_000)
  }
}

function compare(format: string, want: Want, got: Got): void {
  const { text = '', reasoning = '', refusal = '', calls = [] } = want
  // The Messages format has no refusals beside its texts.
  const said = format === 'messages' ? { text: text + refusal, refusal: '' } : { text, refusal }
  const finish = want.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')
  assert.deepEqual(
    { ...got, calls: got.calls.map((call) => ({ name: call.name, input: JSON.parse(call.arguments) as unknown })) },
    {
      ...said,
      reasoning,
      calls: calls.map(({ name, input }) => ({ name, input })),
      finish: finishIn(format, finish, calls.length),
    },
  )
  for (const [i, call] of calls.entries()) {
    const id = got.calls[i]?.id ?? ''
    if (call.id === undefined) assert.match(id, MADE_ID)
    else assert.equal(id, call.id)
  }
  assert.equal(new Set(got.calls.map(({ id }) => id)).size, calls.length)
}

// A response says by its items that calls are wanted, and has no other word for it.
function finishIn(format: string, finish: string, calls: number): string {
  return format === 'responses' && finish === 'tool_calls' && calls === 0 ? 'stop' : finish
}
