// Goal: two fresh controls and two fresh proxies behind a load balancer are restarted by turns under load, and no client notices.
// Method: haproxy with health checks, and nginx, which has none and is told, with the settings of docs/operations/deploy.md;
// requests at a constant rate, half of them streamed, over kept and over fresh connections (nginx closes those that are idle when it is told).
// With SLUICE_OTHER_BUILD, the folder of a checkout in which `make build` has run, each restart changes between this build and
// that one, so that every part is rolled back and updated again and both serve side by side.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { findCommand, type Program, startProgram } from '../../bench/targets/program.ts'
import { postBy } from '../support/clients/socketClient.ts'
import { itemOf } from '../support/present.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { TestProcess } from '../support/testProcess.ts'

const RESTARTS = 10
const REQUESTS_PER_SECOND = 50
const PACE_MS = 1_000 / REQUESTS_PER_SECOND
const SEEN_MS = 3_000

const OTHER_BUILD = process.env['SLUICE_OTHER_BUILD']

/** A part of the stack, by this build or by another one. */
class Part {
  private running: TestProcess
  private next: TestProcess

  constructor(running: TestProcess, name: string, program: string, { dir, env }: Stack) {
    this.running = running
    this.next =
      OTHER_BUILD === undefined ? running : new TestProcess(name, join(OTHER_BUILD, 'dist', program), [], dir, env)
  }

  get port(): number {
    return this.running.port
  }

  async restart(): Promise<void> {
    const { running, next } = this
    if (next === running) return running.restart()
    await next.replace(running)
    this.running = next
    this.next = running
  }

  stop(): Promise<void> {
    return this.running.stop()
  }
}

/** A load balancer before the proxies. */
interface Balancer {
  readonly program: Program
  /** Whether it leaves the idle connections of its clients open while it changes where it sends. */
  readonly keepsClients: boolean
  /** Tells it to which ports it may send new requests. */
  use(ports: readonly number[]): void
}

async function startHaproxy(ports: readonly number[]): Promise<Balancer> {
  const program = await startProgram({
    name: 'haproxy',
    command: findCommand('haproxy').command,
    prepare: (folder, port) => {
      const servers = ports.map((server, i) => `  server s${i} 127.0.0.1:${server}\n`).join('')
      const config = `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend clients
  bind 127.0.0.1:${port}
  default_backend sluice
backend sluice
  option httpchk
  http-check send meth GET uri /ready ver HTTP/1.1 hdr Host sluice
  http-check expect status 200
  default-server check inter 1s fall 2 rise 2
${servers}`
      writeFileSync(join(folder, 'haproxy.cfg'), config)
      return ['-db', '-f', join(folder, 'haproxy.cfg')]
    },
  })
  // Its health checks see what a proxy says of itself.
  return { program, keepsClients: true, use: () => {} }
}

async function startNginx(ports: readonly number[]): Promise<Balancer> {
  let write = (_used: readonly number[]): void => {}
  const program = await startProgram({
    name: 'nginx',
    command: findCommand('nginx').command,
    prepare: (folder, port) => {
      for (const name of TEMPORARY) mkdirSync(join(folder, name))
      const file = join(folder, 'nginx.conf')
      write = (used) => writeFileSync(file, nginxConfig(port, ports, used))
      write(ports)
      return ['-p', folder, '-c', file, '-e', join(folder, 'error.log')]
    },
  })
  return {
    program,
    keepsClients: false,
    use: (used) => {
      write(used)
      process.kill(program.pid, 'SIGHUP')
    },
  }
}

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

function nginxConfig(port: number, ports: readonly number[], used: readonly number[]): string {
  const servers = ports.map((server) => `server 127.0.0.1:${server}${used.includes(server) ? '' : ' down'};`)
  return `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
pid nginx.pid;
error_log error.log error;
events {}
http {
  access_log off;
  ${TEMPORARY.map((name) => `${name}_temp_path ${name};`).join(' ')}
  upstream sluice {
    ${servers.join(' ')}
    keepalive 64;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://sluice;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 10m;
    }
  }
}
`
}

/** Sends requests at a constant rate until it is told to stop. @returns what failed, and how many were sent */
async function load({ program, keepsClients }: Balancer, apiKey: string, signal: AbortSignal) {
  const [kept, fresh] = [new Agent({ keepAlive: true, maxSockets: 64 }), new Agent()]
  const failed: string[] = []
  const sent: Promise<void>[] = []
  const send = async (n: number): Promise<void> => {
    const agent = keepsClients && n % 3 > 0 ? kept : fresh
    const body = { model: 'test/small', stream: n % 2 === 0, messages: [{ role: 'user', content: 'hello' }] }
    try {
      const { status, text } = await postBy(agent, `http://127.0.0.1:${program.port}/v1/chat/completions`, apiKey, body)
      const isWhole = n % 2 === 0 ? text.includes('data: [DONE]') : text.includes('"finish_reason":"stop"')
      if (status !== 200 || !isWhole) failed.push(`${n}: ${status} ${text.slice(0, 300)}`)
    } catch (error) {
      failed.push(`${n}: ${String(error)}`)
    }
  }
  const beganMs = performance.now()
  while (!signal.aborted) {
    sent.push(send(sent.length))
    await sleep(Math.max(0, beganMs + sent.length * PACE_MS - performance.now()))
  }
  await Promise.all(sent)
  kept.destroy()
  return { failed, count: sent.length }
}

async function restartByTurns(
  { controls, proxies }: { readonly controls: readonly Part[]; readonly proxies: readonly Part[] },
  balancer: Balancer,
): Promise<void> {
  const ports = proxies.map(({ port }) => port)
  for (let round = 0; round < RESTARTS; round++) {
    await itemOf(controls, round % controls.length).restart()
    const leaves = itemOf(proxies, round % proxies.length)
    balancer.use(ports.filter((port) => port !== leaves.port))
    await leaves.restart()
    balancer.use(ports)
    // As long as the load balancer takes to see it.
    await sleep(SEEN_MS)
  }
}

const portsOf = (stack: Stack): number[] => stack.baseUrls.map((url) => Number(new URL(url).port))

for (const [name, start] of [
  ['haproxy', startHaproxy],
  ['nginx', startNginx],
] as const) {
  test(`no request fails while controls and proxies behind ${name} are restarted`, async () => {
    const stack = await startStack({
      proxies: 2,
      limits: { leaveNoticeMs: 5_000 },
      catalog: { models: [{ id: 'test/small', upstream: 'mock,chunks=5,delay=20' }] },
    })
    const second = new TestProcess('control2', 'control/main.js', [], stack.dir, stack.env)
    const controls = [stack.control, second].map(
      (one, i) => new Part(one, `control-other${i}`, 'control/main.js', stack),
    )
    const proxies = [stack.proxy, ...stack.moreProxies].map(
      (one, i) => new Part(one, `proxy-other${i}`, 'proxy/main.js', stack),
    )
    let balancer: Balancer | undefined
    try {
      await second.start()
      const { apiKey } = await stack.createAccount({ credits: '1000' })
      balancer = await start(portsOf(stack))
      await sleep(SEEN_MS)
      const stop = new AbortController()
      const loaded = load(balancer, apiKey, stop.signal)
      await restartByTurns({ controls, proxies }, balancer)
      stop.abort()
      const { failed, count } = await loaded
      assert.deepEqual(failed, [], `${failed.length} of ${count} failed`)
      assert.ok(count > 1_000, `${count} requests`)
      await stack.settled()
      await controls[1]?.stop()
      await stack.audit()
    } finally {
      await balancer?.program.stop()
      await Promise.all([...controls, ...proxies].map((part) => part.stop()))
      await stack.stop()
    }
  })
}
