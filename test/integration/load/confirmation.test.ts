// Goal: nobody sends many requests by mistake: a terminal is asked first, and programs have to say --yes.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { compiled } from '../../../control/launch/paths.ts'
import { runCli } from '../../support/cli.ts'
import { limitsText } from '../../support/limits.ts'
import { FaultyGateway } from '../../support/parts/faultyGateway.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const ARGS = ['load', 'URL', '--model', 'clean', '--requests', '31', '--json']
const gateway = await FaultyGateway.start()
const dir = makeTempDir('load')
const env = {
  DATABASE_URL: '',
  REDIS_URL: '',
  SLUICE_DATA: dir,
  SLUICE_KEY: 'sk-test',
  SLUICE_LIMITS: limitsText({ loadUnconfirmedMax: 30 }),
}
const args = ARGS.map((arg) => (arg === 'URL' ? gateway.baseUrl : arg))

after(async () => {
  await gateway.stop()
  removeTempDir(dir)
})

/** Runs the command on a terminal of its own, and answers its question. @returns the exit status, and all that it showed */
async function onTerminal(answer: string): Promise<[code: unknown, shown: string]> {
  const command = [process.execPath, compiled('control/cli.js'), ...args].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    const wasAsked = shown.includes('(yes/no)')
    shown += piece
    if (!wasAsked && shown.includes('(yes/no)')) child.stdin.write(answer)
  })
  const [code] = (await once(child, 'close')) as [unknown]
  return [code, shown]
}

const REFUSALS = { no: 'no\n', y: 'y\n', 'Ctrl-D': '\x04', 'Ctrl-C': '\x03' }
for (const [name, answer] of Object.entries(REFUSALS)) {
  test(`"${name}" sends nothing`, async () => {
    const [code, shown] = await onTerminal(answer)
    assert.match(shown, /Send 31 requests\? \(yes\/no\)/)
    assert.match(shown, /\nsluice: nothing was sent\s*$/)
    assert.notEqual(code, 0)
    assert.equal(gateway.served.size, 0)
  })
}

test('a program has to say --yes', async () => {
  const refused = await runCli(args, env)
  assert.match(refused.stderr, /31 requests have to be confirmed by --yes/)
  assert.notEqual(refused.code, 0)
  assert.equal(gateway.served.size, 0)
})

test('"yes" and --yes send them', async () => {
  const [code, shown] = await onTerminal('yes\n')
  assert.equal(code, 0, shown)
  assert.equal(gateway.served.get('clean'), 31)
  assert.equal((await runCli([...args, '--yes'], env)).code, 0)
  assert.equal(gateway.served.get('clean'), 62)
})
