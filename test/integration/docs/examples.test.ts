// Goal: every example of the documentation works as it is written. Method: the blocks of each page that say so run in their
// order against one gateway with the models of `make run`; CONTRIBUTING.md has the convention.
import { after, before, test } from 'node:test'
import { demoCatalog } from '../../../control/launch/demoCatalog.ts'
import { CommandServer, ExampleRunner, pythonSupport } from '../../support/exampleRunner.ts'
import { markdownPages } from '../../support/markdownPages.ts'
import { type Stack, startStack } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const pages = markdownPages().filter(({ blocks }) => blocks.some(({ runs }) => runs))
const python = pythonSupport()
let stack: Stack
let commands: CommandServer
let cliUrl: string

before(async () => {
  // Batch jobs, attestations and new series of an example are not to be waited for.
  const batches = { batchGatherMs: 100, batchTickMs: 50, batchPollMs: 200 }
  const limits = { ...batches, attestationCheckMs: 200, evidenceCheckMs: 200, catalogCheckMs: 500 }
  // The endpoint of an example is at this machine.
  const env = { SLUICE_PRIVATE_PROVIDERS: '1' }
  stack = await startStack({ catalog: (url) => demoCatalog(Number(new URL(url).port)), limits, env })
  commands = new CommandServer((args) => stack.command(args))
  cliUrl = await commands.start()
})
after(async () => {
  commands.stop()
  await stack.finish()
})

for (const { path, blocks } of pages) {
  test(path, async (t) => {
    const dir = makeTempDir('examples')
    t.after(() => removeTempDir(dir))
    const { apiKey } = await stack.createAccount({ coin: '10', args: ['--allow-retention'] })
    const own = { SLUICE_URL: stack.baseUrl, SLUICE_KEY: apiKey, SLUICE_MODEL: 'demo/chat-small' }
    const runner = new ExampleRunner(dir, own, cliUrl, python)
    if (python !== 'run') t.diagnostic(`Python examples: ${python}, because its packages are not here`)
    for (const block of blocks) await runner.take(block)
  })
}
