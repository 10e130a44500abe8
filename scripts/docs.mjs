// Writes the generated pages of docs/reference/ from the compiled tables, the picture of the parts, and the figures of the
// README. With --check it writes nothing and fails where one is stale.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const isCheck = process.argv.includes('--check')

function readPage(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

const built = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: root, stdio: 'inherit' })
if (built.status !== 0) process.exit(1)
const { pages } = await import('./docs/pages.mjs')
const stale = []
for (const [name, text] of await pages(root)) {
  const path = join(root, name)
  if (readPage(path) === text) continue
  stale.push(name)
  if (!isCheck) writeFileSync(path, text)
}
if (isCheck && stale.length > 0) {
  console.error(`stale: ${stale.join(', ')}; run \`make docs\` and commit what it writes`)
  process.exit(1)
}
for (const name of stale) console.log(`wrote ${name}`)
