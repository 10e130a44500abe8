// Types, contracts, lint and format, layering, documentation: runs all of them, two at a time, and fails when one does.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const steps = [
  ['protobuf', process.execPath, ['scripts/build.mjs', '--proto']],
  // Several checkers would work on the same types, and take the cores that the other steps need.
  ['types', 'node_modules/.bin/tsc', ['-p', 'tsconfig.json', '--noEmit', '--incremental', 'false', '--checkers', '1']],
  ['types of the verifier in browsers', 'node_modules/.bin/tsc', ['-p', 'verifier/tsconfig.json', '--noEmit']],
  ['contracts', process.execPath, ['scripts/contracts.mjs', '--check']],
  ['native code', process.execPath, ['scripts/native-code.mjs']],
  ['layering', process.execPath, ['scripts/layering.mjs']],
  ['owners of tables', process.execPath, ['scripts/tables.mjs']],
  ['rooms', process.execPath, ['scripts/rooms.mjs']],
  ['generated pages', process.execPath, ['scripts/docs.mjs', '--check']],
  ['links and spelling', process.execPath, ['scripts/prose.mjs']],
  ['lint and format', 'node_modules/.bin/biome', ['check', '--error-on-warnings', '.']],
]
const failed = []

/** Shows the output of a step in one piece, since another one runs beside it. */
async function run([name, command, args]) {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, errors, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  process.stdout.write(output)
  process.stderr.write(errors)
  if (status !== 0) failed.push(name)
}

async function serve() {
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) await run(step)
}

// The other steps read its output.
await run(steps.shift())
await Promise.all([serve(), serve()])
if (failed.length > 0) {
  console.error(`check failed: ${failed.join(', ')}`)
  process.exit(1)
}
