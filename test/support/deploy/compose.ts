import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { projectRoot } from '../../../control/launch/paths.ts'
import type { Mount, Part } from './part.ts'

export interface Service {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string | number>>
  readonly volumes?: readonly string[]
  readonly tmpfs?: readonly string[]
  readonly secrets?: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly deploy?: { readonly replicas: number }
  readonly stop_grace_period?: string
  readonly networks?: readonly string[]
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly logging?: unknown
  readonly [member: string]: unknown
}

export interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly networks: Readonly<Record<string, unknown>>
}

const VARIABLE = /\$\{(\w+):-([^}]*)\}/g
const DEFAULT_GRACE_MS = 10_000

function composeText(): string {
  return readFileSync(join(projectRoot, 'compose.yaml'), 'utf8')
}

/** The variables that compose.yaml takes from .env, with their defaults. */
export function composeVariables(): Map<string, string> {
  return new Map([...composeText().matchAll(VARIABLE)].map(([, name = '', value = '']) => [name, value]))
}

/** compose.yaml as docker compose reads it. @param env in place of .env */
export function readCompose(env: Readonly<Record<string, string>> = {}): Compose {
  const text = composeText().replace(VARIABLE, (_, name: string, value: string) => env[name] ?? value)
  return parse(text, { merge: true }) as Compose
}

/** The containers of the image of Sluice, each replica with a name of its own. */
export function composeParts(compose: Compose, image = 'sluice'): Part[] {
  return Object.entries(compose.services).flatMap(([name, service]) => {
    if (service.image !== image) return []
    const replicas = service.deploy?.replicas ?? 1
    return Array.from({ length: replicas }, (_, i) =>
      partOf(compose, replicas === 1 ? name : `${name}-${i + 1}`, service),
    )
  })
}

function partOf(compose: Compose, name: string, service: Service): Part {
  return {
    name,
    args: service.command ?? [],
    environment: Object.fromEntries(
      Object.entries(service.environment ?? {}).map(([variable, value]) => [variable, String(value)]),
    ),
    mounts: [
      ...(service.volumes ?? []).map(mountOfVolume),
      ...(service.secrets ?? []).map((secret): Mount => {
        const source = resolve(projectRoot, compose.secrets[secret]?.file ?? '')
        return { target: `/run/secrets/${secret}`, kind: 'path', source }
      }),
      ...['/dev/shm', ...(service.tmpfs ?? [])].map((target): Mount => ({ target, kind: 'container', source: target })),
    ],
    stopGraceMs: milliseconds(service.stop_grace_period),
  }
}

/** The settings that the command of the PostgreSQL service gives, by name. */
export function postgresSettings({ services }: Compose): Record<string, string> {
  const words = services['postgres']?.command ?? []
  const settings = words.filter((_, i) => words[i - 1] === '-c')
  return Object.fromEntries(settings.map((text) => text.split(/=(.*)/s).slice(0, 2) as [string, string]))
}

/** A line of `volumes`: a named volume, or a path that begins with a dot or a slash. */
export function mountOfVolume(line: string): Mount {
  const [source = '', target = ''] = line.split(':')
  if (!/^[./]/.test(source)) return { target, kind: 'volume', source }
  return { target, kind: 'path', source: resolve(projectRoot, source) }
}

function milliseconds(text: string | undefined): number {
  return text === undefined ? DEFAULT_GRACE_MS : Number(/^(\d+)s$/.exec(text)?.[1]) * 1_000
}
