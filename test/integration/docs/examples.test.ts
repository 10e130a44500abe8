// Goal: every example of the documentation works as it is written. Method: the blocks of each page that say so run in their
// order against one gateway with the models of `make run`; CONTRIBUTING.md has the convention.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { demoCatalog } from '../../../control/launch/demoCatalog.ts'
import { projectRoot } from '../../../control/launch/paths.ts'
import { CommandServer, ExampleRunner, pythonSupport } from '../../support/exampleRunner.ts'
import { fencedBlocks } from '../../support/fencedBlocks.ts'
import { type Stack, startStack } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const pages = ['README.md', ...markdownIn('docs')]
  .map((name) => ({ name, blocks: fencedBlocks(join(projectRoot, name), name) }))
  .filter(({ blocks }) => blocks.some(({ runs }) => runs))
const python = pythonSupport()
let stack: Stack
let commands: CommandServer
let cliUrl: string

function markdownIn(folder: string): string[] {
  const names = readdirSync(join(projectRoot, folder), { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
}

before(async () => {
  // Batch jobs of an example are not to be waited for.
  const limits = { batchGatherMs: 100, batchTickMs: 50, batchPollMs: 200 }
  stack = await startStack({ catalog: (url) => demoCatalog(Number(new URL(url).port)), limits })
  commands = new CommandServer((args) => stack.command(args))
  cliUrl = await commands.start()
})
after(async () => {
  commands.stop()
  await stack.finish()
})

for (const { name, blocks } of pages) {
  test(`${name}`, async (t) => {
    const dir = makeTempDir('examples')
    t.after(() => removeTempDir(dir))
    const { apiKey } = await stack.createAccount({ coin: '10', args: ['--allow-retention'] })
    const own = { SLUICE_URL: stack.baseUrl, SLUICE_KEY: apiKey, SLUICE_MODEL: 'demo/chat-small' }
    const runner = new ExampleRunner(dir, own, cliUrl, python)
    if (python !== 'run') t.diagnostic(`Python examples: ${python}, because its packages are not here`)
    for (const block of blocks) await runner.take(block)
  })
}
