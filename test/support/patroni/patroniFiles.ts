import { join } from 'node:path'

/** One of the servers, and where it is. */
export interface Node {
  readonly name: string
  readonly folder: string
  readonly port: number
  readonly apiPort: number
}

/** The least that Patroni takes: a primary that is lost is replaced once its lease in etcd is over. */
const TTL_SECONDS = 20
const LOOP_SECONDS = 2
const RETRY_SECONDS = 5

/** The settings of one Patroni, as docs/operations/reliability.md has them; YAML takes JSON. */
export function nodeFile(
  { name, folder, port, apiPort }: Node,
  { etcdPort, binFolder, password }: { etcdPort: number; binFolder: string; password: string },
): string {
  const hba = ['host replication replicator 127.0.0.1/32 scram-sha-256', 'host all all 127.0.0.1/32 scram-sha-256']
  return JSON.stringify({
    scope: 'sluice',
    name,
    restapi: { listen: `127.0.0.1:${apiPort}`, connect_address: `127.0.0.1:${apiPort}` },
    etcd3: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ttl: TTL_SECONDS,
        loop_wait: LOOP_SECONDS,
        retry_timeout: RETRY_SECONDS,
        synchronous_mode: true,
        postgresql: { use_pg_rewind: true, parameters: { max_connections: 200, wal_log_hints: 'on' } },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { 'auth-host': 'scram-sha-256' }, 'data-checksums'],
      pg_hba: hba,
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: join(folder, 'data'),
      bin_dir: binFolder,
      pgpass: join(folder, 'pgpass'),
      pg_hba: hba,
      authentication: {
        superuser: { username: 'postgres', password },
        replication: { username: 'replicator', password },
        rewind: { username: 'postgres', password },
      },
      parameters: { unix_socket_directories: folder },
    },
  })
}

/** HAProxy asks each Patroni which server is the primary, and ends connections to one that no longer is. */
export function haproxyFile(nodes: readonly Node[], port: number, statsPort: number): string {
  return [
    'defaults',
    '  mode tcp',
    '  timeout connect 2s',
    '  timeout client 30m',
    '  timeout server 30m',
    'listen primary',
    `  bind 127.0.0.1:${port}`,
    '  option httpchk OPTIONS /primary',
    '  http-check expect status 200',
    '  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions',
    ...nodes.map((node) => `  server ${node.name} 127.0.0.1:${node.port} check port ${node.apiPort}`),
    'frontend state',
    '  mode http',
    `  bind 127.0.0.1:${statsPort}`,
    '  stats enable',
    '  stats uri /',
    '',
  ].join('\n')
}
