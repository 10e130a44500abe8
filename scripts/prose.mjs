// Checks the links and the spelling of every Markdown file of the project, and the wording of these and of comments.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brokenLinks } from './docs/links.mjs'
import { wordingFaultsOf } from './wording.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** Not contracts, whose comments are in the hash at the end of their byte code, and not SQL, as migrations are never edited. */
const PATTERNS = ['*.md', '*.ts', '*.mjs', '*.js', '*.lua', '*.proto']
/** Titles and comments of tests describe a story each, in freer words. */
const isChecked = (name) => !name.startsWith('test/')

const listed = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...PATTERNS], {
  cwd: root,
  encoding: 'utf8',
})
if (listed.status !== 0) {
  console.log('links, wording and spelling are checked in a git checkout only')
  process.exit(0)
}
const written = listed.stdout.split('\n').filter((name) => name !== '' && existsSync(join(root, name)))
const files = written.filter((name) => name.endsWith('.md'))
const faults = [...brokenLinks(root, files), ...wordingFaultsOf(root, written.filter(isChecked))]
for (const fault of faults) console.error(fault)
const spelling = spawnSync(
  join(root, 'node_modules/.bin/cspell'),
  ['--config', 'cspell.json', '--no-progress', '--no-summary', '--quiet', '--file-list', 'stdin'],
  { cwd: root, input: `${files.join('\n')}\n`, stdio: ['pipe', 'inherit', 'inherit'] },
)
if (spelling.status !== 0) console.error('a word that is right goes into scripts/docs/words.txt')
if (faults.length > 0 || spelling.status !== 0) process.exit(1)
