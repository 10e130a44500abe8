// Goal: on every route, whoever has proven no key is held to the bounds of strangers. Method: the proxy's own table of
// routes without sockets: what each says of a head, and what becomes of bodies that only customers may send.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { limits } from '../../support/limits.ts'
import { newProxy, SOUND } from '../../support/parts/soundRequests.ts'

const proxy = newProxy()
after(() => proxy.close())

const NO_PROOF = {
  nothing: { authorization: '' },
  'a payment by x402': { authorization: '', paymentSignature: 'e30=' },
  'a payment by MPP': { authorization: 'Payment e30' },
}
const OPEN = SOUND.filter(([path]) => path.startsWith('/x402/') || path === '/mcp')

test('no request head without a key makes its sender a customer', async () => {
  for (const { method, path, precheck } of proxy.table) {
    for (const [what, head] of Object.entries(NO_PROOF)) {
      const sender = await precheck?.(proxy.headOf(path, { method, ...head }))
      assert.notEqual(sender, 'customer', `${method} ${path}: ${what}`)
    }
  }
})

test('routes with keys identify customers by the request head, paid routes have no customers', async () => {
  for (const { method, path, precheck } of proxy.table.filter((row) => row.method === 'POST')) {
    const sender = await precheck?.(proxy.headOf(path, { method }))
    if (path.startsWith('/x402/')) assert.notEqual(sender, 'customer', path)
    else if (SOUND.some(([known]) => known === path)) assert.equal(sender, 'customer', path)
  }
})

/** A sound body with so many members more. */
function withMembers(body: object, count: number): Buffer {
  const more = Object.fromEntries(Array.from({ length: count }, (_one, i) => [`n${i}`, 1]))
  return Buffer.from(JSON.stringify({ ...body, zz: more }))
}

test('the members of bodies without a key are bounded on every route that accepts them', async () => {
  const count = limits.strangerJsonMembersMax + 1
  for (const [path, body] of OPEN) {
    const { status, text } = await proxy.send(path, withMembers(body, count), NO_PROOF.nothing)
    assert.match(text, /has more than 16384 members of objects/, path)
    assert.equal(status, 400, path)
    const whole = await proxy.send(path, withMembers(body, 1_000), NO_PROOF.nothing)
    assert.doesNotMatch(whole.text, /more than/, path)
  }
  const [path, body] = SOUND.find(([known]) => known === '/v1/chat/completions') ?? assert.fail()
  const { text } = await proxy.send(path, withMembers(body, count))
  assert.doesNotMatch(text, /more than/)
  assert.deepEqual(proxy.faults, [])
})
