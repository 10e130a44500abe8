import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Agent, agentPrograms, CLAUDE, CODEX, OPENCODE, runAgent } from '../support/agentPrograms.ts'
import { api } from '../support/clients/apiClient.ts'
import type { Receipt } from '../support/clients/chatClient.ts'
import { type Asked, TURN_USAGE, type Turn, TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { makeTempDir, removeTempDir } from '../support/tempDir.ts'

const OVER = ['openai', 'anthropic'] as const
const TASK = 'Write the three lines a, b and c to notes.txt, and tell me when you are done.'
const DONE = 'The notes are written.'

interface Call {
  readonly name: string
  readonly input: object
}

/** An agent, the id of its model, the calls that the model makes one after the other, and what they leave in notes.txt. */
interface Play {
  readonly agent: Agent
  readonly model: string
  readonly calls: (work: string) => readonly Call[]
  readonly notes: string
}

const PATCH = ['*** Begin Patch', '*** Update File: notes.txt', '@@', ' a', '-x', '+b', '+c', '*** End Patch', ''].join(
  '\n',
)

// Codex gives this model its free-form patches and its search for tools.
const PLAYS: readonly Play[] = [
  {
    agent: CODEX,
    model: 'gpt-5.5',
    calls: () => [
      { name: 'exec_command', input: { cmd: 'echo a > notes.txt' } },
      { name: 'exec_command', input: { cmd: 'echo x >> notes.txt' } },
      { name: 'tool_search', input: { query: 'notes', limit: 1 } },
      { name: 'apply_patch', input: { input: PATCH } },
      { name: 'exec_command', input: { cmd: 'cat notes.txt' } },
    ],
    notes: 'a\nb\nc\n',
  },
  {
    agent: CODEX,
    model: 'test/agent',
    calls: () =>
      ['echo a > notes.txt', 'echo b >> notes.txt', 'echo c >> notes.txt', 'ls', 'cat notes.txt'].map((cmd) => ({
        name: 'exec_command',
        input: { cmd },
      })),
    notes: 'a\nb\nc\n',
  },
  {
    agent: CLAUDE,
    model: 'test/agent',
    calls: (work) => [
      { name: 'Bash', input: { command: 'echo a > notes.txt', description: 'Write' } },
      { name: 'Read', input: { file_path: join(work, 'notes.txt') } },
      { name: 'Edit', input: { file_path: join(work, 'notes.txt'), old_string: 'a', new_string: 'a\nb' } },
      { name: 'Bash', input: { command: 'echo c >> notes.txt', description: 'Write' } },
      { name: 'Bash', input: { command: 'cat notes.txt', description: 'Read' } },
    ],
    notes: 'a\nb\nc\n',
  },
  {
    agent: OPENCODE,
    model: 'test/agent',
    calls: (work) => [
      { name: 'bash', input: { command: 'echo a > notes.txt', description: 'Write' } },
      { name: 'read', input: { filePath: join(work, 'notes.txt') } },
      { name: 'edit', input: { filePath: join(work, 'notes.txt'), oldString: 'a', newString: 'a\nb' } },
      { name: 'bash', input: { command: 'echo c >> notes.txt', description: 'Write' } },
      { name: 'bash', input: { command: 'cat notes.txt', description: 'Read' } },
    ],
    notes: 'a\nb\nc\n',
  },
]

/** How many results the conversation holds, in either dialect. */
function resultsIn({ body }: Asked): number {
  const messages = body['messages'] as readonly { role: string; content: unknown }[]
  return messages.reduce((sum, { role, content }) => {
    if (role === 'tool') return sum + 1
    if (!Array.isArray(content)) return sum
    return sum + content.filter((block: { type?: string }) => block.type === 'tool_result').length
  }, 0)
}

let stack: Stack
let provider: TurnProvider
let programs: string
let calls: readonly Call[] = []

before(async () => {
  programs = agentPrograms()
  provider = await TurnProvider.start((asked): Turn => {
    const next = Array.isArray(asked.body['tools']) ? calls[resultsIn(asked)] : undefined
    if (next === undefined) return { text: DONE }
    return { text: 'Next.', calls: [{ name: next.name, arguments: JSON.stringify(next.input) }] }
  })
  const endpoints = ['chat', 'messages', 'responses']
  stack = await startStack({
    catalog: {
      providers: OVER.map((dialect) => ({ id: dialect, dialect, base_url: provider.url })),
      models: OVER.flatMap((dialect) =>
        [...new Set(PLAYS.map(({ model }) => model))].map((id) => ({
          id: `${id}${dialect === 'openai' ? '' : `-${dialect}`}`,
          endpoints,
          routes: [{ provider: dialect, model: 'm' }],
        })),
      ),
    },
  })
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

describe('coding agents finish a task of five calls', () => {
  for (const play of PLAYS) {
    for (const dialect of OVER) {
      const model = dialect === 'openai' ? play.model : `${play.model}-${dialect}`
      test(`${play.agent.program} with ${model}`, async () => {
        const dir = makeTempDir('agent')
        try {
          const { apiKey } = await stack.createAccount({ credits: '100' })
          const work = join(dir, 'work')
          calls = play.calls(work)
          const before = provider.asked.length
          const said = await runAgent(play.agent, programs, dir, { baseUrl: stack.baseUrl, apiKey, model }, TASK)
          assert.ok(said.includes(DONE), said)
          assert.equal(readFileSync(join(work, 'notes.txt'), 'utf8'), play.notes)
          await stack.settled()
          await assertBilled(apiKey, provider.asked.length - before)
        } finally {
          removeTempDir(dir)
        }
      })
    }
  }
})

/** The receipts of an account add up to what the provider bills for so many answers. */
async function assertBilled(apiKey: string, answers: number): Promise<void> {
  assert.ok(answers > 5)
  const { body } = await api<{ data: Receipt[] }>(stack.baseUrl, 'GET', '/v1/receipts?limit=100', { token: apiKey })
  const sum = (of: (receipt: Receipt) => number) => body.data.reduce((total, receipt) => total + of(receipt), 0)
  assert.deepEqual(
    body.data.filter(({ status }) => status !== 'ok'),
    [],
  )
  assert.deepEqual(
    [sum(({ usage }) => usage.prompt_tokens), sum(({ usage }) => usage.completion_tokens)],
    [answers * TURN_USAGE.prompt, answers * TURN_USAGE.completion],
  )
}
