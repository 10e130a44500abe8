// Goal: Codex goes on with its task after its conversation was summed up by the gateway, by an item of its input and, as
// older versions of it do, by the path for it; the receipts, those of the summaries among them, add up to what was billed.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  type Agent,
  agentPrograms,
  codexThatCompactsByPath,
  compactingCodex,
  runAgent,
} from '../support/agentPrograms.ts'
import { api } from '../support/clients/apiClient.ts'
import type { Receipt } from '../support/clients/chatClient.ts'
import { turnCatalog } from '../support/providers/turnCatalog.ts'
import { type Asked, TURN_USAGE, type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { makeTempDir, removeTempDir } from '../support/tempDir.ts'

const TOKENS_MAX = 60_000
const GROWN = { promptTokens: TOKENS_MAX + 1 }
const SUMMARY = 'a and b are written, c is missing.'
const DONE = 'The notes are written.'
const TASK = 'Write the three lines a, b and c to notes.txt, and tell me when you are done.'
const COMMANDS = ['echo a > notes.txt', 'echo b >> notes.txt', 'echo c >> notes.txt', 'cat notes.txt']
/** The call whose answer tells that the conversation has grown beyond the limit. */
const GROWN_AT = 1

const VERSIONS: readonly (readonly [title: string, agent: Agent, isByPath: boolean])[] = [
  ['Codex', compactingCodex(TOKENS_MAX), false],
  ['Codex by the path', codexThatCompactsByPath(TOKENS_MAX), true],
]

/** A model that works through its commands, and what it was asked for. */
class Script {
  readonly summaries: Asked[] = []
  readonly afterSummary: Asked[] = []
  /** Tokens of prompts that were billed. */
  prompt = 0
  answers = 0
  private next = 0

  turn(asked: Asked): Turn {
    const turn = this.turnOf(asked)
    this.answers++
    this.prompt += turn.promptTokens ?? TURN_USAGE.prompt
    return turn
  }

  private turnOf(asked: Asked): Turn {
    if (JSON.stringify(asked.body['messages']).includes('Sum up this conversation')) {
      this.summaries.push(asked)
      return { text: SUMMARY }
    }
    if (this.summaries.length > 0) this.afterSummary.push(asked)
    const at = this.next++
    const cmd = COMMANDS[at]
    if (cmd === undefined) return { text: DONE }
    const calls = [{ name: 'exec_command', arguments: JSON.stringify({ cmd }) }]
    return { text: 'Next.', calls, ...(at === GROWN_AT && GROWN) }
  }
}

let stack: Stack
let provider: TurnProvider
let programs: string
let script = new Script()

before(async () => {
  programs = agentPrograms()
  provider = await TurnProvider.start((asked) => script.turn(asked))
  stack = await startStack({
    catalog: turnCatalog(provider.url, { endpoints: ['responses'] }),
  })
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

describe('a task goes on after its conversation was summed up', () => {
  for (const [title, agent, isByPath] of VERSIONS) {
    for (const model of ['test/openai', 'test/anthropic']) {
      test(`${title} with ${model}`, async () => {
        const dir = makeTempDir('agent')
        script = new Script()
        try {
          const { apiKey } = await stack.createAccount({ credits: '100' })
          const said = await runAgent(agent, programs, dir, { baseUrl: stack.baseUrl, apiKey, model }, TASK)
          assert.ok(said.includes(DONE), said)
          assert.equal(readFileSync(join(dir, 'work/notes.txt'), 'utf8'), 'a\nb\nc\n')
          assert.equal(script.summaries.length, 1)
          const [next] = script.afterSummary
          assert.match(JSON.stringify(next?.body['messages']), new RegExp(`${TASK}.*summed up as follows.*${SUMMARY}`))
          await stack.settled()
          await assertBilled(apiKey, isByPath)
        } finally {
          removeTempDir(dir)
        }
      })
    }
  }
})

/** The receipts add up to what the provider bills for its answers; one more of them than turns is that of the summary. */
async function assertBilled(apiKey: string, isByPath: boolean): Promise<void> {
  const { body } = await api<{ data: (Receipt & { streamed: boolean })[] }>(
    stack.baseUrl,
    'GET',
    '/v1/receipts?limit=100',
    { token: apiKey },
  )
  const sum = (of: (receipt: Receipt) => number) => body.data.reduce((total, receipt) => total + of(receipt), 0)
  assert.ok(body.data.every(({ status }) => status === 'ok'))
  assert.deepEqual(
    [body.data.length, sum(({ usage }) => usage.prompt_tokens), sum(({ usage }) => usage.completion_tokens)],
    [script.answers, script.prompt, script.answers * TURN_USAGE.completion],
  )
  // The path answers in one piece; the item of an input is answered by a stream, as all turns of Codex are.
  assert.equal(body.data.filter(({ streamed }) => !streamed).length, isByPath ? 1 : 0)
}
