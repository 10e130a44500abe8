// Goal: the alert rules that are shipped are valid for Prometheus, and fire and stay silent as their own tests say. Method: promtool runs
// them, where the machine has it (Debian: prometheus).
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const DIR = fileURLToPath(new URL('../../../../deploy/prometheus/', import.meta.url))
const promtool = (...args: string[]) => spawnSync('promtool', args, { cwd: DIR, encoding: 'utf8', timeout: 60_000 })
const isAtHand = promtool('--version').status === 0

test('promtool takes the rules and passes their tests', { skip: isAtHand ? false : 'promtool is not at hand' }, () => {
  for (const args of [
    ['check', 'rules', 'rules.yml'],
    ['test', 'rules', 'rules.test.yml'],
  ]) {
    const { status, stdout, stderr } = promtool(...args)
    assert.equal(status, 0, `${args.join(' ')}\n${stdout}\n${stderr}`)
  }
})
