// Prints the section of CHANGELOG.md of a release: node scripts/release-notes.mjs v0.1.0
// A tag whose version is not that of package.json, or whose section has no date yet, is refused.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * @param tag such as "v0.1.0"
 * @param version of package.json
 * @param changelog text of CHANGELOG.md
 * @throws Error that says what to change before the release
 */
export function releaseNotes(tag, version, changelog) {
  if (tag !== `v${version}`) throw new Error(`the tag ${tag} is not that of package.json, v${version}`)
  const [, newest = ''] = changelog.split(/^(?=## \[)/m)
  const [heading = '', ...lines] = newest.split('\n')
  const found = /^## \[([^\]]+)\] - (\S+)$/.exec(heading)
  if (found?.[1] !== version)
    throw new Error(`CHANGELOG.md begins with ${found?.[1] ?? 'no version'}, not with ${version}`)
  if (!/^\d{4}-\d{2}-\d{2}$/.test(found[2]))
    throw new Error(`CHANGELOG.md has no date for ${version}, but "${found[2]}"`)
  return `${lines.join('\n').trim()}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const read = (file) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
  try {
    process.stdout.write(
      releaseNotes(process.argv[2] ?? '', JSON.parse(read('package.json')).version, read('CHANGELOG.md')),
    )
  } catch (error) {
    console.error(error.message)
    process.exitCode = 1
  }
}
