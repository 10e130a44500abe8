// The conversions that the scripts make, in a real Redis, against exact integers.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { MAX_UNITS } from '../../../contract/money/units.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { sharedSource } from '../../../contract/wire/scripts.ts'
import { anyAmount, anyCoinPrice, exactCoin, exactValue } from '../../support/samples/coinAmounts.ts'
import { startTestRedis, type TestServer } from '../../support/services.ts'

let server: TestServer
let redis: Redis

before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, 'wait')
})
after(async () => {
  redis.disconnect()
  await server.stop()
})

/** Converts amounts by the function of this name, all in one call. */
async function convert(name: 'valueOfCoin' | 'coinFor', pairs: readonly [number, number][]): Promise<number[]> {
  const call = `local reply = {}
    for i = 1, #ARGV, 2 do
      reply[#reply + 1] = string.format('%.0f', ${name}(tonumber(ARGV[i]), tonumber(ARGV[i + 1])))
    end
    return reply`
  const reply = (await redis.eval(sharedSource('coin') + call, 0, ...pairs.flat())) as string[]
  return reply.map(Number)
}

const pairs = fc.array(fc.tuple(anyAmount, anyCoinPrice), { minLength: 100, maxLength: 200 })

test('the value of coin, also for the amount that an account lacks', async () => {
  await fc.assert(
    fc.asyncProperty(pairs, async (some) => {
      assert.deepEqual(
        await convert('valueOfCoin', some),
        some.map(([nanos, price]) => exactValue(nanos, price)),
      )
      const lacking = some.map(([nanos, price]): [number, number] => [-nanos, price])
      const floors = some.map(([nanos, price]) => {
        const exact = -((BigInt(nanos) * BigInt(price) + 999_999_999n) / 1_000_000_000n)
        return exact < -BigInt(MAX_UNITS) ? undefined : Number(exact)
      })
      const found = await convert('valueOfCoin', lacking)
      for (const [i, floor] of floors.entries()) if (floor !== undefined) assert.equal(found[i], floor || 0)
    }),
    { numRuns: 60 },
  )
})

test('the least coin that is worth an amount', async () => {
  await fc.assert(
    fc.asyncProperty(pairs, async (some) => {
      const found = await convert('coinFor', some)
      for (const [i, [units, price]] of some.entries()) {
        assert.equal(found[i], exactCoin(units, price) ?? MAX_UNITS + 1, `${units} units at ${price}`)
      }
    }),
    { numRuns: 60 },
  )
})
