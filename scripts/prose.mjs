// Checks the links and the spelling of every Markdown file of the project.
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brokenLinks } from './docs/links.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

const listed = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
if (listed.status !== 0) {
  console.log('links and spelling are checked in a git checkout only')
  process.exit(0)
}
const files = listed.stdout.split('\n').filter((name) => name !== '')
const faults = brokenLinks(root, files)
for (const fault of faults) console.error(fault)
const spelling = spawnSync(
  join(root, 'node_modules/.bin/cspell'),
  ['--config', 'cspell.json', '--no-progress', '--no-summary', '--quiet', '--file-list', 'stdin'],
  { cwd: root, input: `${files.join('\n')}\n`, stdio: ['pipe', 'inherit', 'inherit'] },
)
if (spelling.status !== 0) console.error('a word that is right goes into scripts/docs/words.txt')
if (faults.length > 0 || spelling.status !== 0) process.exit(1)
