// Goal: a provider that answers a request for images as events in one piece is read: its clients get the events of the images
// that are in it, at the same charge. One row a shape.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { mediaModel, postForm, postJson } from '../support/clients/mediaClient.ts'
import { type CountedReceipt, priceOf } from '../support/reconcile.ts'
import { type Stack, startStack } from '../support/stack.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex')
const IMAGE = priceOf('image', 1)
const USAGE = { input_tokens: 10, output_tokens: 20, total_tokens: 30 }
const image = (text: string, more: object = {}) => ({ b64_json: text, ...more })
const whole = (data: unknown, more: object = {}) => JSON.stringify({ created: 7, data, ...more })

interface Row {
  readonly name: string
  readonly body: string
  readonly type?: string
  readonly n?: number
  /** The events but for their type; absent: refused, and nothing is charged. */
  readonly events?: readonly object[]
}

const ROWS: readonly Row[] = [
  {
    name: 'one image with its usage',
    body: whole([image('aa')], { usage: USAGE, size: '1024x1024', quality: 'low' }),
    events: [{ b64_json: 'aa', created_at: 7, usage: USAGE, size: '1024x1024', quality: 'low' }],
  },
  {
    name: 'two images',
    body: whole([image('aa', { revised_prompt: 'x "y"' }), image('bb')]),
    n: 2,
    events: [
      { b64_json: 'aa', created_at: 7, revised_prompt: 'x "y"' },
      { b64_json: 'bb', created_at: 7 },
    ],
  },
  {
    name: 'labelled as an event stream',
    body: whole([image('aa')]),
    type: 'text/event-stream',
    events: [{ b64_json: 'aa', created_at: 7 }],
  },
  {
    name: 'without a time, over several lines',
    body: JSON.stringify({ data: [image('aa', { size: '1x1' })], size: '2x2', usage: USAGE }, null, 2),
    events: [{ b64_json: 'aa', size: '1x1', usage: USAGE }],
  },
  {
    name: 'behind a byte order mark and blank lines',
    body: `\ufeff\n\n${whole([image('aa')])}\n`,
    events: [{ b64_json: 'aa', created_at: 7 }],
  },
  {
    name: 'one of two that failed',
    body: whole([{ error: { message: 'blocked' } }, image('aa')]),
    n: 2,
    events: [{ b64_json: 'aa', created_at: 7 }],
  },
  {
    name: 'more images than asked for',
    body: whole([image('aa'), image('bb')]),
    events: [{ b64_json: 'aa', created_at: 7 }],
  },
  {
    name: 'members that only the gateway writes',
    body: whole([image('aa', { type: 'error', created_at: 9 })], { receipt: { cost: 0 }, model: 'm' }),
    events: [{ b64_json: 'aa', created_at: 7 }],
  },
  { name: 'a receipt in an image', body: whole([image('aa', { receipt: {} })]) },
  { name: 'an address', body: whole([{ url: 'https://a.example/b.png' }]) },
  { name: 'no image', body: whole([]) },
  { name: 'nulls', body: whole([image(null as unknown as string), null, 'aa']) },
  { name: 'no list', body: whole('aa') },
  { name: 'an error', body: JSON.stringify({ error: { message: 'no' } }) },
  { name: 'broken JSON', body: whole([image('aa')]).slice(0, -2) },
  { name: 'a page', body: '<html></html>', type: 'text/html' },
  { name: 'nothing', body: '' },
]

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const row = ROWS[Number(/row (\d+)/.exec(Buffer.concat(parts).toString('latin1'))?.[1])]
    response.writeHead(200, { 'content-type': row?.type ?? 'application/json' }).end(row?.body)
  })
})
let stack: Stack
let apiKey: string

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  stack = await startStack({
    limits: { breakerFailures: 10_000 },
    catalog: {
      providers: [{ id: 'wire', base_url: url, event_streams: ['images'] }],
      models: [mediaModel('test/image', 'image', 'm', { routes: [{ provider: 'wire', model: 'm' }] })],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

for (const [path, kind] of [
  ['images/generations', 'image_generation'],
  ['images/edits', 'image_edit'],
] as const) {
  describe(path, () => {
    for (const [place, row] of ROWS.entries()) test(row.name, () => check(path, kind, place, row))
  })
}

async function check(path: string, kind: string, place: number, { n = 1, events }: Row): Promise<void> {
  const url = `${stack.baseUrl}/v1/${path}`
  const body = { model: 'test/image', prompt: `row ${place}`, n, stream: true, partial_images: 1 }
  const reply = await (path.endsWith('edits')
    ? postForm(url, apiKey, { ...body, image: PNG })
    : postJson(url, apiKey, body))
  if (events === undefined) {
    assert.equal(reply.status, 502, reply.text)
    return
  }
  assert.equal(reply.status, 200, reply.text)
  const lines = reply.text.split('\n')
  const got = lines.filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)) as object)
  assert.deepEqual(
    got,
    events.map((event) => ({ type: `${kind}.completed`, ...event })),
  )
  const receipt = JSON.parse(lines.find((line) => line.startsWith(': receipt '))?.slice(10) ?? '') as CountedReceipt
  assert.deepEqual([receipt.status, receipt.cost.units], ['ok', String(events.length * IMAGE)])
}
