import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ChatBody, chat, completion, type Receipt, takeApart } from './clients/chatClient.ts'
import { itemOf } from './present.ts'
import { assertReconciled } from './reconcile.ts'
import type { Stack, TestAccount } from './stack.ts'

// Clients that try again at once would keep the processes that are to come back from doing so.
const RETRY_PAUSE_MS = 50

/** What the clients of a workload saw. */
export interface WorkloadResult {
  readonly account: TestAccount
  /** Answers that were whole: their receipts. */
  readonly answered: Receipt[]
  /** The request ids of all answers that began, also of those that broke off. */
  readonly begun: string[]
  /** Refusals by status. */
  readonly refused: Map<number, number>
  /** Connections that broke, and streams that ended without [DONE]. */
  readonly broken: number
}

export interface Workload {
  stop(): Promise<WorkloadResult>
  /** Whole answers so far. */
  readonly answered: () => number
}

/**
 * Keeps `clients` clients busy, each with one request after another, streamed and not by turns, over the models.
 * Failures are part of it: clients go on after a pause, as a retrying client would.
 * @param pauseMs between two requests of a client
 */
export function startWorkload(
  stack: Stack,
  account: TestAccount,
  models: readonly string[],
  clients: number,
  pauseMs = 0,
): Workload {
  const answered: Receipt[] = []
  const begun: string[] = []
  const refused = new Map<number, number>()
  let broken = 0
  let stopped = false

  const one = async (turn: number): Promise<void> => {
    const stream = turn % 3 !== 0
    // Tagged, so that the audit at the end has sums by tag and user to compare.
    const tagged = turn % 4 === 0 ? {} : { user: `user ${turn % 5}`, metadata: { team: `t${turn % 4}` } }
    const body: ChatBody = { model: itemOf(models, turn % models.length), stream, max_tokens: 50, ...tagged }
    const reply = await chat(stack.baseUrl, account.apiKey, body, ({ status, headers }) => {
      if (status === 200) begun.push(headers.get('x-request-id') ?? '')
    })
    if (reply.status !== 200) {
      refused.set(reply.status, (refused.get(reply.status) ?? 0) + 1)
      await sleep(RETRY_PAUSE_MS)
      return
    }
    if (!stream) {
      const { receipt } = completion(reply)
      if (receipt !== undefined) answered.push(receipt)
      return
    }
    const parts = takeApart(reply)
    if (!parts.done) broken++
    if (parts.receipt !== null) answered.push(parts.receipt)
  }
  const client = async (first: number): Promise<void> => {
    for (let turn = first; !stopped; turn += clients) {
      try {
        await one(turn)
        if (pauseMs > 0) await sleep(pauseMs)
      } catch {
        broken++
        await sleep(RETRY_PAUSE_MS)
      }
    }
  }
  const running = Array.from({ length: clients }, (_, first) => client(first))
  return {
    answered: () => answered.length,
    stop: async () => {
      stopped = true
      await Promise.all(running)
      return { account, answered, begun, refused, broken }
    },
  }
}

/**
 * Asserts that each whole answer was charged what the provider's log says, that no receipt came twice, and that every
 * receipt that a client saw is in the book with the same charge.
 */
export async function assertWorkload(stack: Stack, result: WorkloadResult, leastAnswered: number): Promise<void> {
  assert.ok(result.answered.length >= leastAnswered, `only ${result.answered.length} answers: ${describe(result)}`)
  const log = await stack.provider.log()
  const ids = new Set(result.answered.map((receipt) => receipt.request_id))
  assert.equal(ids.size, result.answered.length)
  const booked = await bookedCharges(stack, result.account)
  for (const { request_id, cost } of result.answered) assert.equal(booked.get(request_id), cost.units, request_id)
  for (const receipt of result.answered)
    if (receipt.status === 'ok' && receipt.usage_source === 'reported') assertReconciled(receipt, log)
}

/** The units that each request of an account was charged, by the book. */
async function bookedCharges(stack: Stack, { apiKey }: TestAccount): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (let after = ''; ; ) {
    const path = `/v1/receipts?limit=100${after === '' ? '' : `&after=${after}`}`
    const response = await fetch(stack.baseUrl + path, { headers: { authorization: `Bearer ${apiKey}` } })
    const page = (await response.json()) as { data: Receipt[]; has_more: boolean }
    for (const { request_id, cost } of page.data) found.set(request_id, cost.units)
    if (!page.has_more) return found
    after = itemOf(page.data, page.data.length - 1).request_id
  }
}

/** Numbers of a workload for the message of a failed test. */
export function describe(result: WorkloadResult): string {
  const refused = [...result.refused].map(([status, count]) => `${status}: ${count}`).join(', ')
  return `${result.answered.length} answered, ${result.broken} broken, refused {${refused}}`
}

/** The process ids of a process's children. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}
