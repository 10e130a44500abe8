import type { ChildProcess } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const START_TIMEOUT_MS = 5_000
const MISSING = 'nginx is not on PATH. On Debian: apt-get install nginx-light. On macOS: brew install nginx.'

/** A running nginx with one worker that passes everything through. */
export interface Nginx {
  port: number
  version: string
  masterPid: number
  workerPid: number
  stop(): Promise<void>
}

/**
 * Starts nginx as a plain pass-through to a server on this machine, in a folder of its own, on a free port.
 * @throws Error naming the package when nginx is missing, or with nginx's own message when it does not start
 */
export async function startNginx(upstreamPort: number): Promise<Nginx> {
  const version = nginxVersion()
  const folder = mkdtempSync(join(tmpdir(), 'sluice-nginx-'))
  for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(join(folder, name))
  const port = await freePort()
  writeFileSync(join(folder, 'nginx.conf'), nginxConfig(port, upstreamPort))
  const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')]
  const master = spawn('nginx', args, { stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    await answersAt(port, master)
    const masterPid = master.pid ?? 0
    return { port, version, masterPid, workerPid: workerOf(masterPid), stop: () => stop(master, folder) }
  } catch (error) {
    await stop(master, folder)
    throw error
  }
}

function nginxVersion(): string {
  const shown = spawnSync('nginx', ['-v'], { encoding: 'utf8' })
  if (shown.error !== undefined) throw new Error(MISSING)
  return /nginx\/(\S+)/.exec(shown.stderr)?.[1] ?? 'unknown'
}

/** What nginx's own manual advises for passing streams through fast: kept connections, no buffering, no log. */
function nginxConfig(port: number, upstreamPort: number): string {
  // Started by root, nginx would hand its worker to a user who cannot read this folder.
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  return `${user}
daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log error;
worker_rlimit_nofile 65536;
events { worker_connections 16384; }
http {
  access_log off;
  tcp_nodelay on;
  keepalive_timeout 75s;
  keepalive_requests 1000000000;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  client_body_buffer_size 64k;
  upstream mock {
    server 127.0.0.1:${upstreamPort};
    keepalive 4096;
    keepalive_requests 1000000000;
    keepalive_timeout 60s;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`
}

function workerOf(masterPid: number): number {
  const children = readFileSync(`/proc/${masterPid}/task/${masterPid}/children`, 'utf8').trim().split(' ')
  const pid = Number(children[0])
  if (!(pid > 0)) throw new Error('nginx has no worker process')
  return pid
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}

async function answersAt(port: number, master: ChildProcess): Promise<void> {
  const until = Date.now() + START_TIMEOUT_MS
  while (Date.now() < until) {
    if (master.exitCode !== null) throw new Error(`nginx ended with status ${master.exitCode}`)
    if (await accepts(port)) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('nginx did not start in time')
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

function stop(master: ChildProcess, folder: string): Promise<void> {
  return new Promise((resolve) => {
    const clean = () => {
      rmSync(folder, { recursive: true, force: true })
      resolve()
    }
    if (master.exitCode !== null || master.signalCode !== null) return clean()
    master.on('exit', clean)
    master.kill('SIGTERM')
  })
}
