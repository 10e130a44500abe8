import assert from 'node:assert/strict'
import { test } from 'node:test'
import { api } from './clients/apiClient.ts'
import { type Receipt, receiptOf } from './clients/chatClient.ts'
import { journalFolders, readJournals } from './journals.ts'
import { type AtStep, LIFE_STEPS, type LifeStep } from './lifeSteps.ts'
import type { Victim } from './lifeVictims.ts'
import type { LifeWorld } from './lifeWorld.ts'
import { itemOf } from './present.ts'
import { assertReconciled, servedFor } from './reconcile.ts'
import { until } from './until.ts'

/** Makes a test for each victim at each step of a request's life. @param world is there once the tests run */
export function killAtEveryStep(victims: readonly Victim[], world: () => LifeWorld): void {
  for (const victim of victims) {
    for (const step of LIFE_STEPS) {
      test(`${victim.name} is killed when ${step.name}`, () => killAt(step, victim, world()))
    }
  }
}

async function killAt(step: LifeStep, victim: Victim, world: LifeWorld): Promise<void> {
  const { stack } = world
  const before = await newestReceipts(world)
  const at = await step.reach(world)
  const owners = await ownersOf(world, at.requestId)
  await victim.kill(world)
  await at.letGo(victim.servesRequests)
  await victim.bringBack(world)
  await at.call.reply()
  await stack.ready()
  await until('the request is booked', async () => (await newestReceipts(world))[0] === at.requestId)
  await stack.settled()
  await stack.audit()
  assert.equal((await newestReceipts(world))[1], before[0], 'one receipt for one request')
  await assertBooked(step, victim, at, world)
  if (!victim.servesRequests) return
  // Before that the next start would deliver it once more.
  await until('the journal of the dead is gone', () => {
    const folders = journalFolders(stack.dir)
    return !owners.some((owner) => folders.has(owner))
  })
}

async function assertBooked(step: LifeStep, victim: Victim, at: AtStep, world: LifeWorld): Promise<void> {
  const { stack, account } = world
  const booked = await receiptOf(stack.baseUrl, account.apiKey, at.requestId)
  const isLost = victim.servesRequests && !step.hasEnded
  assert.equal(booked.status, isLost ? 'orphaned' : 'ok')
  const shown = at.call.receipt
  if (!victim.servesRequests) assert.notEqual(shown, null, 'the client has its receipt')
  if (shown !== null) assert.deepEqual(numbersOf(booked), numbersOf(shown))
  if (isLost) assert.equal(booked.cost.units, '0')
  const isServed = step.isAsked || !victim.servesRequests
  const log = await servedLines(world, at.requestId, isServed ? 1 : 0)
  if (isLost) assert.deepEqual(log, isServed ? ['client_gone'] : [])
  else assertReconciled(booked, await stack.provider.log())
}

/** How the provider's work for a request ended, once it has so many lines. */
async function servedLines(world: LifeWorld, requestId: string, count: number): Promise<string[]> {
  let outcomes: string[] = []
  await until('the provider has written down what it served', async () => {
    outcomes = servedFor(requestId, await world.stack.provider.log()).map(({ outcome }) => outcome)
    return outcomes.length >= count
  })
  return outcomes
}

function numbersOf({ status, cost, hold, usage, usage_source, clamped, price_sheet }: Receipt): unknown {
  return { status, cost, hold, usage, usage_source, clamped, price_sheet }
}

/** The ids of the account's last two requests in the book, the newest first. */
async function newestReceipts({ stack, account }: LifeWorld): Promise<string[]> {
  const { body } = await api<{ data?: Receipt[] }>(stack.baseUrl, 'GET', '/v1/receipts?limit=2', {
    token: account.apiKey,
  })
  return (body.data ?? []).map(({ request_id }) => request_id)
}

/** Whose journals have a request. */
async function ownersOf({ stack }: LifeWorld, requestId: string): Promise<string[]> {
  const contents = await readJournals(stack.dir)
  const owners = [...journalFolders(stack.dir).keys()]
  return owners.filter((_, i) => {
    const { open, endings } = itemOf(contents, i)
    return [...open, ...[...endings.values()].flat()].some((record) => record.requestId === requestId)
  })
}
