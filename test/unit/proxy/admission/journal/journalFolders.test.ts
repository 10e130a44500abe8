import assert from 'node:assert/strict'
import { chmodSync, chownSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import {
  makeJournalFolder,
  makeJournalFolderSync,
  provideJournalFolders,
} from '../../../../../proxy/admission/journal/journalFolders.ts'
import { makeTempDir, removeTempDir } from '../../../../support/tempDir.ts'

const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

let dir: string
beforeEach(() => {
  dir = makeTempDir('folders')
})
afterEach(() => removeTempDir(dir))

const disk = (): string => join(dir, 'data', 'journal')
const memory = (): string => join(dir, 'sluice-0123')
const provide = (): Promise<void> => provideJournalFolders({ journalFolder: disk(), journalMemoryFolder: memory() })
const modeOf = (path: string): number => lstatSync(path).mode & 0o777

test('missing folders are made for this user alone, and taken again', async () => {
  await provide()
  await provide()
  for (const folder of [disk(), memory()]) {
    assert.equal(modeOf(folder), 0o700)
    await makeJournalFolder(join(folder, 'own'))
    makeJournalFolderSync(join(folder, 'own'))
    assert.equal(modeOf(join(folder, 'own')), 0o700)
  }
})

interface Case {
  readonly name: string
  readonly reason: RegExp
  readonly make: (path: string) => void
  readonly asRoot?: true
}

const CASES: readonly Case[] = [
  {
    name: 'a link to a closed folder',
    reason: /is a symbolic link/,
    make: (path) => {
      mkdirSync(join(dir, 'else'), { mode: 0o700 })
      symlinkSync(join(dir, 'else'), path)
    },
  },
  { name: 'a link to nothing', reason: /is a symbolic link/, make: (path) => symlinkSync(join(dir, 'none'), path) },
  { name: 'a file', reason: /is not a folder/, make: (path) => writeFileSync(path, '') },
  ...[0o777, 0o770, 0o701, 0o500].map((mode) => ({
    name: `a folder of mode 0${mode.toString(8)}`,
    reason: new RegExp(`has the mode 0${mode.toString(8)} instead of 0700`),
    make: (path: string) => {
      mkdirSync(path)
      chmodSync(path, mode)
    },
  })),
  {
    name: 'a closed folder of another user',
    reason: /belongs to the user with the id 65534/,
    asRoot: true,
    make: (path) => {
      mkdirSync(path, { mode: 0o700 })
      chownSync(path, NOBODY, NOBODY)
    },
  },
]

for (const { name, reason, make, asRoot } of CASES) {
  test(`${name} is no folder of the journal`, { skip: asRoot === true && !isRoot }, async () => {
    mkdirSync(join(dir, 'data'))
    make(memory())
    await assert.rejects(provide(), (error: Error) => {
      assert.match(error.message, reason)
      assert.ok(error.message.includes(memory()) && error.message.includes('SLUICE_JOURNAL_MEMORY'), error.message)
      return true
    })
    assert.throws(() => makeJournalFolderSync(join(memory(), 'own')), reason)
  })

  test(`${name} is no folder of the journal on disk`, { skip: asRoot === true && !isRoot }, async () => {
    mkdirSync(join(dir, 'data'))
    make(disk())
    await assert.rejects(provide(), (error: Error) => {
      assert.match(error.message, reason)
      assert.ok(error.message.includes(disk()) && error.message.includes('SLUICE_DATA'), error.message)
      return true
    })
    await assert.rejects(makeJournalFolder(join(disk(), 'own')), reason)
  })
}
