// Goal: `make run` says why it cannot use a data folder, and changes nothing about one before it is its own.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { compiled } from '../../../../control/launch/paths.ts'
import { closeFolder, provideDataFolder } from '../../../../control/launch/privateFolder.ts'
import { makeTempDir, removeTempDir } from '../../../support/tempDir.ts'

const NOBODY = 65_534
const dir = makeTempDir('folders')
after(() => removeTempDir(dir))
const isRoot = process.getuid?.() === 0

const modeOf = (path: string): number => statSync(path).mode & 0o7777

test('a missing folder is made for this user alone, with those above it; an existing one stays as it is until it is closed', () => {
  const made = join(dir, 'above/data')
  provideDataFolder(made)
  assert.equal(modeOf(made), 0o700)
  const open = join(dir, 'open')
  mkdirSync(open)
  chmodSync(open, 0o710)
  provideDataFolder(open)
  assert.equal(modeOf(open), 0o710)
  closeFolder(open)
  assert.equal(modeOf(open), 0o700)
})

test('a folder that all users share, and a file, are refused', () => {
  const shared = join(dir, 'shared')
  mkdirSync(shared)
  chmodSync(shared, 0o1777)
  assert.throws(() => provideDataFolder(shared), {
    message: `SLUICE_DATA is ${shared}, which all users share; name a separate folder`,
  })
  const file = join(dir, 'file')
  writeFileSync(file, '')
  assert.throws(() => provideDataFolder(file), { message: `SLUICE_DATA is ${file}, which cannot be made (EEXIST)` })
  const below = join(file, 'data')
  assert.throws(() => provideDataFolder(below), { message: `SLUICE_DATA is ${below}, which cannot be made (ENOTDIR)` })
})

test('a folder of another user, one that cannot be written and one below such a one are refused with that reason', {
  skip: !isRoot && 'only root can become another user',
}, () => {
  const foreign = join(dir, 'foreign')
  mkdirSync(foreign)
  const script = `
    const { provideDataFolder } = await import(process.argv[1])
    try { provideDataFolder(process.argv[2]); process.stdout.write('used') } catch (error) { process.stdout.write(error.message) }`
  const asNobody = (folder: string): string => {
    const args = ['--input-type=module', '-e', script, compiled('control/launch/privateFolder.js'), folder]
    const done = spawnSync(process.execPath, args, { uid: NOBODY, gid: NOBODY, cwd: '/', encoding: 'utf8' })
    return done.stdout + done.stderr
  }
  assert.match(
    asNobody(foreign),
    /^SLUICE_DATA is .*, which belongs to the user with the id 0; run this as that user, or/,
  )
  assert.match(asNobody(join(foreign, 'data')), /^SLUICE_DATA is .*, which cannot be made \(EACCES\)$/)
})
