// Goal: the package ai runs the shell and the patches of a user's machine through the gateway, and goes on with their results.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { stepCountIs, streamText, type ToolSet } from 'ai'
import { OVER, turnCatalog } from '../support/providers/turnCatalog.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'

const COMMANDS = { commands: ['ls'] }
const OPERATIONS = [
  { type: 'create_file', path: 'a', diff: '+x' },
  { type: 'delete_file', path: 'a' },
]

let stack: Stack
let provider: TurnProvider
let openai: ReturnType<typeof createOpenAI>

before(async () => {
  const turns = [
    { calls: [{ name: 'shell', arguments: JSON.stringify(COMMANDS) }] },
    ...OPERATIONS.map((operation) => ({ calls: [{ name: 'apply_patch', arguments: JSON.stringify(operation) }] })),
    { text: 'done' },
  ]
  let place = 0
  provider = await TurnProvider.start(() => turns[place++ % turns.length] ?? {})
  stack = await startStack({ catalog: turnCatalog(provider.url) })
  openai = createOpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey: (await stack.createAccount()).apiKey })
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

describe('tools of the user’s machine', () => {
  for (const dialect of OVER) {
    test(`over a provider of the dialect ${dialect}`, async () => {
      const ran: unknown[] = []
      const result = streamText({
        model: openai.responses(`test/${dialect}`),
        providerOptions: { openai: { store: false } },
        prompt: 'go',
        stopWhen: stepCountIs(6),
        tools: {
          shell: openai.tools.shell({
            execute: ({ action }) => {
              ran.push(action)
              return Promise.resolve({ output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exitCode: 0 } }] })
            },
          }),
          apply_patch: openai.tools.applyPatch({
            execute: ({ operation }) => {
              ran.push(operation)
              return { status: 'completed', output: 'patched' }
            },
          }),
        } as ToolSet,
      })
      assert.equal(await result.text, 'done')
      assert.deepEqual(ran, [COMMANDS, ...OPERATIONS])
      assert.match(JSON.stringify(provider.last.body['messages']), /exit code 0.*patched.*patched/s)
    })
  }
})
