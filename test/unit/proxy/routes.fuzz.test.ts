// Goal: no body, however broken, is a fault of the gateway. Method: sound requests of every endpoint that takes JSON are
// mutated at random and served by the proxy's own routes without sockets; what is not an error of the table fails, and so
// does a status of 500. The seed is in the message; SLUICE_FUZZ_SEED repeats it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { newProxy, SOUND } from '../../support/parts/soundRequests.ts'
import { Mutator, seededRandom } from '../../support/samples/mutations.ts'

const MUTATIONS = 100_000
const AT_ONCE = 100

test('the sound requests reach a provider, or control', async () => {
  for (const [path, body] of SOUND) {
    const proxy = newProxy()
    const { status, text } = await proxy.send(path, Buffer.from(JSON.stringify(body)))
    assert.deepEqual(proxy.faults, [], path)
    assert.ok([200, 429, 502, 503].includes(status), `${path}: ${status} ${text}`)
  }
})

test(`of ${MUTATIONS} broken requests none is a fault of the gateway`, async () => {
  const seed = Number(process.env['SLUICE_FUZZ_SEED'] ?? Date.now() % 2 ** 31)
  const mutator = new Mutator(seededRandom(seed))
  const proxy = newProxy()
  const sound = SOUND.map(([path, body]) => ({ path, text: JSON.stringify(body) }))
  const statuses = new Map<number, number>()
  for (let sent = 0; sent < MUTATIONS; sent += AT_ONCE) {
    const requests = Array.from({ length: AT_ONCE }, (_one, i) => {
      const { path, text } = sound[(sent + i) % sound.length] ?? assert.fail()
      return { path, bytes: mutator.mutate(text) }
    })
    const replies = await Promise.all(requests.map(({ path, bytes }) => proxy.send(path, bytes)))
    for (const [i, { status, text }] of replies.entries()) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      const { path, bytes } = requests[i] ?? assert.fail()
      const isFault = status === 500 || text.includes('"internal_error"')
      const shown = isFault ? `${path} ${bytes.toString().slice(0, 2_000)}\n${inspect(proxy.faults[0])}` : ''
      assert.ok(!isFault, `seed ${seed}: ${shown}`)
    }
    assert.deepEqual(proxy.faults, [], `seed ${seed}`)
  }
  // Many have to pass the readers, else what comes behind them is not tried.
  assert.ok(proxy.asked > MUTATIONS / 20, `${proxy.asked} reached a provider: ${JSON.stringify([...statuses])}`)
  assert.ok((statuses.get(400) ?? 0) > MUTATIONS / 4, JSON.stringify([...statuses]))
})
