// Goal: large bodies come to the same as small ones, and none of them holds up the event loop. Method: requests are served
// by the proxy's own routes without sockets; what a provider is asked is looked at, and what the main thread does.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from '../../../../../contract/errors/errors.ts'
import { type BodyOwner, LargeBodies, type LargeBody } from '../../../../../proxy/endpoints/largeBodies/largeBodies.ts'
import { checkBounds } from '../../../../../proxy/json/jsonBounds.ts'
import type { UpstreamRequest } from '../../../../../proxy/upstream/transport/transport.ts'
import { limits } from '../../../../support/limits.ts'
import { newProxy, SOUND } from '../../../../support/parts/soundRequests.ts'
import { longestTurn, slowness, watchJson } from '../../../../support/parts/turnWatch.ts'
import { rounds, sampled } from '../../../../support/rounds.ts'
import { ADVERSARIAL } from '../../../../support/samples/adversarialBodies.ts'
import { Mutator, newSeed, seededRandom } from '../../../../support/samples/mutations.ts'

const LARGE_BYTES = 300_000
const BLANKS = ' '.repeat(LARGE_BYTES)
const MUTATIONS = rounds({ short: 20, long: 300 })
/** What the main thread may parse or print at once, and for how long it may be at work. */
const AT_ONCE_BYTES = 262_144
const TURN_MS = 10
const TRIES = 8
/** Tools take no large bodies; what is paid for is answered with a price that names the digest of its body. */
const JSON_ROUTES = SOUND.filter(([path]) => !path.startsWith('/v1/tools/') && !path.startsWith('/x402/'))

const mixed = newProxy()
const byProvider = { mock: newProxy(['mock']), claude: newProxy(['claude']) }
const opened: LargeBodies[] = []
after(() =>
  Promise.all([
    ...[mixed, ...Object.values(byProvider)].map((proxy) => proxy.close()),
    ...opened.map((one) => one.close()),
  ]),
)

function bodyOf(request: UpstreamRequest | undefined): string {
  const body = request?.body ?? ''
  return typeof body === 'string' || Buffer.isBuffer(body) ? String(body) : Buffer.concat(body).toString()
}

function newLarge(changes: Partial<Record<keyof typeof limits, number>> = {}): LargeBodies {
  const large = new LargeBodies({ ...limits, ...changes }, (error) => assert.fail(String(error)))
  opened.push(large)
  return large
}

function largeBody(
  text: string | Buffer,
  owner: BodyOwner = 'customer',
  large = newLarge(),
  accountId = 'acct_1',
): LargeBody {
  return large.of(Buffer.from(text), owner, accountId) ?? assert.fail('the body is not large')
}

async function refusal(text: string | Buffer, owner: BodyOwner = 'customer'): Promise<string> {
  try {
    await largeBody(text, owner).run('chat', { surface: 'chat', answers: true })
    return ''
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error))
    return `${error.row}: ${error.message}`
  }
}

test('the provider request is the same for a large body as for a small one', async () => {
  let asked = 0
  for (const proxy of [mixed, ...Object.values(byProvider)]) {
    for (const [path, sound] of JSON_ROUTES) {
      const replies: { text: string; body: string }[] = []
      for (const text of [JSON.stringify(sound), JSON.stringify(sound) + BLANKS]) {
        proxy.lastAsked = undefined
        const { text: reply } = await proxy.send(path, Buffer.from(text))
        replies.push({ text: reply, body: bodyOf(proxy.lastAsked) })
      }
      assert.deepEqual(replies[1], replies[0], path)
      if (replies[0]?.body !== '') asked++
    }
    assert.deepEqual(proxy.faults, [])
  }
  assert.ok(asked > 25, String(asked))
})

test(`${MUTATIONS} malformed large bodies get the same result as small ones`, async () => {
  const seed = newSeed()
  const mutator = new Mutator(seededRandom(seed))
  for (let i = 0; i < MUTATIONS; i++) {
    const [path, sound] = JSON_ROUTES[i % JSON_ROUTES.length] ?? assert.fail()
    const bytes = mutator.mutate(JSON.stringify(sound))
    if (bytes.length > 16_384) continue
    mixed.lastAsked = undefined
    const small = await mixed.send(path, bytes)
    const smallBody = bodyOf(mixed.lastAsked)
    mixed.lastAsked = undefined
    const large = await mixed.send(path, Buffer.concat([bytes, Buffer.from(BLANKS)]))
    // Where the text ends early, blanks behind it do not make it whole, but may be within a string.
    const isBroken = /incomplete|not valid JSON/.test(small.text) || /nests deeper/.test(large.text)
    const shown = `seed ${seed}: ${path} ${bytes.toString()}`
    assert.equal(large.status, small.status, shown)
    if (!isBroken) assert.deepEqual([large.text, bodyOf(mixed.lastAsked)], [small.text, smallBody], shown)
  }
  assert.deepEqual(mixed.faults, [], `seed ${seed}`)
})

test('bounds count the contents of the parsed value', () => {
  const count = (value: unknown): { members: number; elements: number } => {
    const total = { members: 0, elements: 0 }
    if (typeof value !== 'object' || value === null) return total
    if (Array.isArray(value)) total.elements += value.length
    else total.members += Object.keys(value).length
    for (const child of Object.values(value)) {
      const { members, elements } = count(child)
      total.members += members
      total.elements += elements
    }
    return total
  }
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1), (value, indent) => {
      const bytes = Buffer.from(JSON.stringify(value, null, indent))
      const { members, elements } = count(JSON.parse(bytes.toString()))
      const bounds = { depthMax: 128, membersMax: members, elementsMax: elements }
      checkBounds(bytes, bounds)
      if (members > 0) assert.throws(() => checkBounds(bytes, { ...bounds, membersMax: members - 1 }), /members/)
      if (elements > 0) assert.throws(() => checkBounds(bytes, { ...bounds, elementsMax: elements - 1 }), /elements/)
    }),
  )
})

test('members, elements and depth of large bodies are bounded', async () => {
  const holds = (zz: string) => `{"model":"m","messages":[{"role":"user","content":"a"}],"zz":${zz}${BLANKS}}`
  const objects = (count: number) => `[${'{"a":1},'.repeat(count)}{}]`
  assert.equal(await refusal(holds('1')), '')
  assert.match(await refusal(holds(objects(limits.jsonMembersMax))), /has more than 65536 members/)
  assert.match(await refusal(holds(`[${'1,'.repeat(limits.jsonElementsMax)}1]`)), /more than 524288 elements/)
  assert.match(await refusal(holds('['.repeat(128) + ']'.repeat(128))), /nests deeper than 128/)
  assert.match(await refusal(holds(objects(limits.strangerJsonMembersMax)), 'stranger'), /more than 16384 members/)
  assert.equal(await refusal(holds(objects(limits.strangerJsonMembersMax))), '')
})

test('a body that is not JSON is rejected like a small one', async () => {
  assert.match(await refusal(`{"model":"m","messages":[${BLANKS}`), /^body_incomplete/)
  assert.match(await refusal(`{"model":"m",]${BLANKS}`), /^invalid_request: The body is not valid JSON/)
  assert.match(await refusal(`[1${BLANKS}]`), /must be a JSON object/)
  assert.match(await refusal(`model=m&zz=${'z'.repeat(LARGE_BYTES)}`), /^unsupported_media_type/)
  assert.match(await refusal(Buffer.concat([Buffer.from('{"a":"\xff', 'latin1'), Buffer.from(BLANKS)])), /not UTF-8/)
})

test('the size from which a body is large depends on its sender', () => {
  const large = newLarge()
  assert.equal(large.of(Buffer.alloc(16_384), 'stranger', ''), undefined)
  assert.ok(large.of(Buffer.alloc(16_385), 'stranger', ''))
  assert.equal(large.of(Buffer.alloc(262_144), 'customer', ''), undefined)
  assert.ok(large.of(Buffer.alloc(262_145), 'customer', ''))
})

test('bodies beyond the waiting limit are rejected, and those without a key do not delay customers', async () => {
  const large = newLarge({ largeBodiesWaitingMax: 2 })
  const text = `{"model":"m","messages":[{"role":"user","content":"a"}]${BLANKS}}`
  const read = (owner: BodyOwner) => largeBody(text, owner, large).run('chat', { surface: 'chat', answers: true })
  const strangers = Promise.allSettled(Array.from({ length: 8 }, () => read('stranger')))
  const customer = await read('customer')
  assert.equal(customer.modelId, 'm')
  const ends = await strangers
  const refused = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as GatewayError] : []))
  assert.ok(refused.length >= 4, String(refused.length))
  for (const { row, status, retryAfterSeconds } of refused) {
    assert.deepEqual([row, status, retryAfterSeconds], ['too_many_uploads', 429, 1])
  }
})

test('bodies of one customer delay and refuse no other customer', async () => {
  const large = newLarge({ largeBodiesWaitingMax: 8 })
  const text = `{"model":"m","messages":[{"role":"user","content":"a"}]${BLANKS}}`
  const ended: string[] = []
  const read = (accountId: string) =>
    largeBody(text, 'customer', large, accountId)
      .run('chat', { surface: 'chat', answers: true })
      .then(
        () => ended.push(accountId),
        ({ row }: GatewayError) => ended.push(`${accountId} ${row}`),
      )
  const flood = Array.from({ length: 20 }, () => read('flood'))
  await Promise.all([read('other'), read('other')])
  // One of the flood is under way, and one of it has its turn before each of the others.
  assert.equal(ended.filter((end) => end === 'other').length, 2, String(ended))
  assert.ok(ended.filter((end) => end === 'flood').length <= 3, String(ended))
  await Promise.all(flood)
  assert.equal(ended.filter((end) => end === 'flood too_many_uploads').length, 20 - 1 - 6, String(ended))
})

test('a body that occupies a thread too long is rejected, and the next one is read', async () => {
  const large = newLarge({ largeBodyTimeoutMs: 1 })
  const text = `{"model":"m","messages":[{"role":"user","content":"${'a\\n'.repeat(3_000_000)}"}]}`
  await assert.rejects(
    largeBody(text, 'customer', large).run('chat', { surface: 'chat', answers: true }),
    (error: unknown) => error instanceof GatewayError && error.row === 'too_many_uploads',
  )
  assert.equal(await refusal(`{"model":"m","messages":[{"role":"user","content":"a"}]${BLANKS}}`), '')
})

test('the part of the request that a response repeats is bounded', async () => {
  const long = 'a'.repeat(limits.echoBytesMax)
  const send = (path: string, body: object) =>
    mixed.send(path, Buffer.from(JSON.stringify({ model: 'test/chat', ...body })))
  const { status, text } = await send('/v1/responses', { input: 'x', instructions: long })
  assert.equal(status, 400)
  assert.match(text, /instructions, tools and text are repeated/)
  assert.equal((await send('/v1/completions', { prompt: `${long}a`, echo: true })).status, 400)
  assert.doesNotMatch((await send('/v1/completions', { prompt: `${long}a` })).text, /echo/)
})

test('the main thread reads and writes no large body, and no turn of the event loop is long', async (t) => {
  const work = watchJson()
  t.after(work.stop)
  let served = 0
  for (const [path, what, make] of sampled(ADVERSARIAL, 6)) {
    const text = make()
    const body = Buffer.from(new SharedArrayBuffer(Buffer.byteLength(text)))
    body.write(text)
    const turns: number[] = []
    const { asked } = mixed
    // Code that runs for the first time, and the collection of garbage, may add to any one try.
    while (turns.length < TRIES && Math.min(...turns) > TURN_MS) {
      work.reset()
      turns.push(await longestTurn(() => mixed.send(path, body)))
      assert.ok(work.bytes() <= AT_ONCE_BYTES, `${path}, ${what}: ${work.bytes()} bytes at once`)
    }
    const shown = turns.map((ms) => ms.toFixed(1)).join(', ')
    assert.ok(Math.min(...turns) <= TURN_MS * slowness(), `${path}, ${what}: ${shown} ms`)
    if (mixed.asked > asked) served++
    t.diagnostic(`${path}, ${what}, ${(body.length / 1e6).toFixed(1)} MB: ${shown} ms`)
  }
  assert.ok(served > sampled(ADVERSARIAL, 6).length / 2, `${served} of the bodies reached a provider`)
  assert.deepEqual(mixed.faults, [])
})
