import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { projectRoot } from '../../../control/launch/paths.ts'

interface ReleaseNotes {
  releaseNotes(tag: string, version: string, changelog: string): string
}

const { releaseNotes }: ReleaseNotes = await import(pathToFileURL(join(projectRoot, 'scripts/release-notes.mjs')).href)
const changelog = (date: string) =>
  `# Changelog\n\n## [0.2.0] - ${date}\n\n### Added\n\n- One.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n`

test('the notes of a release are the section of its version alone', () => {
  assert.equal(releaseNotes('v0.2.0', '0.2.0', changelog('2027-01-31')), '### Added\n\n- One.\n')
})

test('a tag, a version and a changelog that do not agree are refused', () => {
  assert.throws(
    () => releaseNotes('v0.2.1', '0.2.0', changelog('2027-01-31')),
    /the tag v0\.2\.1 is not that of package\.json/,
  )
  assert.throws(() => releaseNotes('v0.3.0', '0.3.0', changelog('2027-01-31')), /begins with 0\.2\.0, not with 0\.3\.0/)
  assert.throws(() => releaseNotes('v0.2.0', '0.2.0', changelog('unreleased')), /no date for 0\.2\.0, but "unreleased"/)
  assert.throws(() => releaseNotes('v0.2.0', '0.2.0', '# Changelog\n'), /begins with no version/)
})
