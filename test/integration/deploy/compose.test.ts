// Goal: compose.yaml is whole: each variable, mount, secret, volume and network that it names exists, and the files that it mounts
// are valid where their program is at hand.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { workerStopMaxMs } from '../../../contract/limits/stopTime.ts'
import { secretNames, variableNames } from '../../../contract/schemas/environment.ts'
import { fileVariable } from '../../../contract/schemas/secretFiles.ts'
import { projectRoot } from '../../../control/launch/paths.ts'
import { composeParts, composeVariables, mountOfVolume, readCompose } from '../../support/deploy/compose.ts'
import { limits } from '../../support/limits.ts'

const compose = readCompose()
const services = Object.entries(compose.services)
const parts = composeParts(compose)

test('every variable of .env.example is read, with the default that it shows, and the other way round', () => {
  const text = readFileSync(join(projectRoot, '.env.example'), 'utf8')
  const shown = new Map([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]))
  assert.deepEqual([...shown].sort(), [...composeVariables()].sort())
  const paragraphs = text.split('\n\n').slice(1)
  for (const paragraph of paragraphs) assert.match(paragraph, /^# /, 'each group says what it is')
})

test('the variables of each part are ones that it reads, and secrets come from files', () => {
  for (const { name, args, environment } of parts) {
    const program = args[0] === 'proxy' || args[0] === 'control' ? args[0] : 'command line'
    const secrets = secretNames(program)
    const known = new Set([...variableNames(program), ...secrets.map(fileVariable)])
    for (const variable of Object.keys(environment)) {
      assert.ok(known.has(variable), `${name} does not read ${variable}`)
      assert.ok(!secrets.includes(variable), `${name}: ${variable} is a secret, and anyone may read the environment`)
    }
  }
})

test('what services mount and name exists', () => {
  const made = (path: string): boolean => path.startsWith(join(projectRoot, 'config/'))
  for (const [name, service] of services) {
    for (const mount of (service.volumes ?? []).map(mountOfVolume)) {
      if (mount.kind === 'volume') assert.ok(mount.source in compose.volumes, `${name}: no volume ${mount.source}`)
      else assert.ok(made(mount.source) || existsSync(mount.source), `${name}: no ${mount.source}`)
    }
    for (const secret of service.secrets ?? []) assert.ok(secret in compose.secrets, `${name}: no secret ${secret}`)
    for (const network of service.networks ?? [])
      assert.ok(network in compose.networks, `${name}: no network ${network}`)
    for (const needed of Object.keys(service.depends_on ?? {}))
      assert.ok(needed in compose.services, `${name}: no service ${needed}`)
    assert.ok(service.logging !== undefined, `${name} rotates its log`)
  }
  const used = (member: 'secrets' | 'networks') => new Set(services.flatMap(([, service]) => service[member] ?? []))
  assert.deepEqual(
    Object.keys(compose.secrets).filter((secret) => !used('secrets').has(secret)),
    [],
  )
  assert.deepEqual(
    Object.keys(compose.networks).filter((network) => !used('networks').has(network)),
    [],
  )
})

test('parts have a read-only root, no rights, and volumes of their own where they write', () => {
  assert.deepEqual(parts.map(({ name }) => name).sort(), ['control-1', 'control-2', 'migrate', 'proxy-a', 'proxy-b'])
  for (const [name, service] of services.filter(([, { image }]) => image === 'sluice')) {
    assert.equal(service['read_only'], true, name)
    assert.deepEqual(service['cap_drop'], ['ALL'], name)
    assert.deepEqual(service['security_opt'], ['no-new-privileges:true'], name)
  }
  const journals = parts
    .filter(({ args }) => args[0] === 'proxy')
    .map(({ mounts }) => mounts.find(({ target }) => target === '/var/lib/sluice'))
  assert.equal(new Set(journals.map((mount) => mount?.source)).size, 2, 'two proxies share no journal')
  for (const { name, args, stopGraceMs } of parts.filter(({ args }) => args[0] !== 'migrate')) {
    const needed = args[0] === 'proxy' ? workerStopMaxMs(limits) : limits.shutdownTimeoutMs
    assert.ok(stopGraceMs > needed, `${name} is killed after ${stopGraceMs} ms and may need ${needed} ms`)
  }
})

test('the servers outside of the image keep their data', () => {
  const words = (name: string) => compose.services[name]?.command?.join(' ') ?? ''
  assert.match(words('valkey'), /--appendonly yes --appendfsync everysec --maxmemory-policy noeviction$/)
  assert.match(words('postgres'), /archive_mode=on/)
  for (const [name, target] of Object.entries({ postgres: '/var/lib/postgresql', valkey: '/data' })) {
    const mounts = (compose.services[name]?.volumes ?? []).map(mountOfVolume)
    assert.ok(
      mounts.some((mount) => mount.kind === 'volume' && mount.target === target),
      name,
    )
    assert.deepEqual(compose.services[name]?.networks, ['inside'], `${name} is reached by the parts alone`)
  }
})

test('Prometheus reads the jobs of our alerts at ports that parts have, and Grafana has our dashboards', () => {
  const own = parse(readFileSync(join(projectRoot, 'deploy/compose/prometheus.yml'), 'utf8')) as ScrapeFile
  const shipped = parse(readFileSync(join(projectRoot, 'deploy/prometheus/scrape.yml'), 'utf8')) as ScrapeFile
  const jobs = (file: ScrapeFile) => file.scrape_configs.map(({ job_name: name }) => name)
  assert.deepEqual(jobs(own), jobs(shipped))
  const [proxies, controls] = own.scrape_configs
  const names = parts.filter(({ args }) => args[0] === 'proxy').map(({ name }) => `${name}:9464`)
  assert.deepEqual(proxies?.static_configs?.[0]?.targets, names)
  assert.deepEqual([controls?.dns_sd_configs?.[0]?.names, controls?.dns_sd_configs?.[0]?.port], [['control'], 9465])
  const mounts = (compose.services['grafana']?.volumes ?? []).map(mountOfVolume)
  const dashboards = parse(readFileSync(join(projectRoot, 'deploy/compose/grafana/dashboards.yml'), 'utf8')) as {
    readonly providers: readonly { readonly options: { readonly path: string } }[]
  }
  const path = dashboards.providers[0]?.options.path
  assert.equal(mounts.find(({ target }) => target === path)?.source, join(projectRoot, 'deploy/grafana'))
})

test('Caddy and promtool take their files, where they are at hand', (t) => {
  const caddy = ['validate', '--adapter', 'caddyfile', '--config', join(projectRoot, 'deploy/compose/Caddyfile')]
  const rules = ['check', 'rules', join(projectRoot, 'deploy/prometheus/rules.yml')]
  for (const [program, args] of [
    ['caddy', caddy],
    ['promtool', rules],
  ] as const) {
    const done = spawnSync(program, args, { encoding: 'utf8' })
    if (done.error !== undefined) t.diagnostic(`${program} is not here`)
    else assert.equal(done.status, 0, done.stderr)
  }
})

interface ScrapeFile {
  readonly scrape_configs: readonly {
    readonly job_name: string
    readonly static_configs?: readonly { readonly targets: readonly string[] }[]
    readonly dns_sd_configs?: readonly { readonly names: readonly string[]; readonly port: number }[]
  }[]
}
