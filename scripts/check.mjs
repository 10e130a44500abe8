// Types, contracts, lint and format, layering, documentation: runs all of them and fails when one does.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const steps = [
  ['protobuf', process.execPath, ['scripts/build.mjs', '--proto']],
  ['types', 'node_modules/.bin/tsc', ['-p', 'tsconfig.json', '--noEmit', '--incremental', 'false']],
  ['types of the verifier in browsers', 'node_modules/.bin/tsc', ['-p', 'verifier/tsconfig.json', '--noEmit']],
  ['contracts', process.execPath, ['scripts/contracts.mjs', '--check']],
  ['lint and format', 'node_modules/.bin/biome', ['check', '--error-on-warnings', '.']],
  ['layering', process.execPath, ['scripts/layering.mjs']],
  ['owners of tables', process.execPath, ['scripts/tables.mjs']],
  ['rooms', process.execPath, ['scripts/rooms.mjs']],
  ['generated pages', process.execPath, ['scripts/docs.mjs', '--check']],
  ['links and spelling', process.execPath, ['scripts/prose.mjs']],
]
const failed = []
for (const [name, command, args] of steps) {
  if (spawnSync(command, args, { cwd: root, stdio: 'inherit' }).status !== 0) failed.push(name)
}
if (failed.length > 0) {
  console.error(`check failed: ${failed.join(', ')}`)
  process.exit(1)
}
