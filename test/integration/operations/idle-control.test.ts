// Goal: a control without work costs little. Method: the statements that it sends to PostgreSQL are counted by its own metric.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Stack, startStack } from '../../support/stack.ts'

const OBSERVED_MS = 6_000
const STATEMENTS_PER_SECOND_MAX = 27
/** Of the second reading itself, and of loops that come once in seconds. */
const OTHERS_MAX = 20

let stack: Stack

before(async () => {
  stack = await startStack()
  await stack.createAccount()
  await stack.settled()
})

after(() => stack.finish())

async function statements(): Promise<number> {
  const answer = await fetch(stack.controlMetricsUrl)
  const [, count] = /^sluice_control_postgres_statement_seconds_count (\d+)$/m.exec(await answer.text()) ?? []
  return Number(count)
}

test('a control without work sends PostgreSQL few statements a second', async () => {
  const begin = performance.now()
  const first = await statements()
  await sleep(OBSERVED_MS)
  const sent = (await statements()) - first
  const seconds = (performance.now() - begin) / 1_000
  assert.ok(sent > 0, 'the polls of every second are among them')
  const most = STATEMENTS_PER_SECOND_MAX * seconds + OTHERS_MAX
  assert.ok(sent < most, `${sent} statements in ${seconds} s, at most ${most}`)
})
