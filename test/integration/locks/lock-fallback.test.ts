// Goal: tokens of a lock pay for the model of their series alone, also where a request may be served by others. Method: a model with
// a series beside one that fails and one that costs more.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { heldUnits } from '../../support/parts/lockPots.ts'
import { EXACT, LOCK_BODY, LOCK_MODEL, LOCK_UNITS, LockWorld, SHEET_UNITS } from '../../support/parts/lockWorld.ts'

const DEAR = { price: { input: '100', output: '200' }, upstream: EXACT }

let world: LockWorld
before(async () => {
  world = await LockWorld.start(EXACT, { limits: { breakerFailures: 1_000_000 } }, [
    { id: 'test/down', upstream: 'mock,error=500', price: { input: '0.1', output: '0.1' } },
    { id: 'test/dear', ...DEAR },
  ])
})
after(() => world.finish())

test('a request that burns tokens holds them for its own model, whatever others it names', async () => {
  const account = await world.holder(LOCK_UNITS)
  const receipt = await world.ask(account, { models: ['test/dear'] })
  assert.deepEqual([receipt.model, receipt.lock?.units], [LOCK_MODEL, String(LOCK_UNITS)])
  assert.equal(receipt.hold.units, String(LOCK_UNITS))
  await world.stack.settled()
  assert.equal(await heldUnits(world.pool, world.series, account.accountId), 0)
})

test('a model that serves in place of another is paid at its price sheet, and burns no tokens', async () => {
  const account = await world.holder(LOCK_UNITS)
  const receipt = await world.ask(account, { ...LOCK_BODY, model: 'test/down', models: [LOCK_MODEL] })
  assert.deepEqual([receipt.model, receipt.lock], [LOCK_MODEL, undefined])
  assert.equal(receipt.cost.units, String(SHEET_UNITS))
  await world.stack.settled()
  assert.equal(await heldUnits(world.pool, world.series, account.accountId), LOCK_UNITS)
})

test('an account without tokens of the series falls back as any other', async () => {
  const account = await world.stack.createAccount()
  const receipt = await world.ask(account, { ...LOCK_BODY, model: 'test/down', models: ['test/dear'] })
  assert.deepEqual([receipt.model, receipt.cost.units], ['test/dear', String(100 * SHEET_UNITS)])
})
