import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../control/launch/process/freePort.ts'
import type { Program } from './program.ts'
import { findCommand, startProgram } from './program.ts'
import { PROVIDER_HOST, type ProviderPorts } from './provider.ts'

/** A running nginx with one worker that passes everything through. */
export interface Nginx extends Program {
  readonly version: string
  readonly workerPid: number
  /** The port whose requests are forwarded to the provider over TLS. */
  readonly tlsPort: number
}

/**
 * Starts nginx as a plain pass-through to the mock provider.
 * @throws Error when it is missing or does not start
 */
export async function startNginx(provider: ProviderPorts): Promise<Nginx> {
  const { command, version } = findCommand('nginx')
  const tlsPort = await freePort()
  const program = await startProgram({
    name: 'nginx',
    command,
    prepare: (folder, port) => {
      for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(join(folder, name))
      writeFileSync(join(folder, 'nginx.conf'), nginxConfig(port, tlsPort, provider))
      return ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')]
    },
  })
  return { ...program, version, workerPid: workerOf(program.pid), tlsPort }
}

/**
 * The settings that nginx's manual advises for proxying streams: keep-alive, no buffering, no log. The largest
 * bodies of the benchmark stay in memory. Over TLS it checks the provider as every client should.
 */
function nginxConfig(port: number, tlsPort: number, provider: ProviderPorts): string {
  // Started by root, nginx would run its worker as a user that cannot read this folder.
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
  client_max_body_size 32m;
  client_body_buffer_size 2m;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_buffering off;
  proxy_ssl_protocols TLSv1.2 TLSv1.3;
  proxy_ssl_verify on;
  proxy_ssl_trusted_certificate ${provider.providerCertFile};
  proxy_ssl_name ${PROVIDER_HOST};
  proxy_ssl_server_name on;
${upstream('plain', provider.providerPort)}
${upstream('encrypted', provider.providerTlsPort)}
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / { proxy_pass http://plain; }
  }
  server {
    listen 127.0.0.1:${tlsPort} backlog=4096;
    location / { proxy_pass https://encrypted; }
  }
}
`
}

function upstream(name: string, port: number): string {
  return `  upstream ${name} {
    server 127.0.0.1:${port};
    keepalive 4096;
    keepalive_requests 1000000000;
    keepalive_timeout 60s;
  }`
}

function workerOf(masterPid: number): number {
  const children = readFileSync(`/proc/${masterPid}/task/${masterPid}/children`, 'utf8').trim().split(' ')
  const pid = Number(children[0])
  if (!(pid > 0)) throw new Error('nginx has no worker process')
  return pid
}
