import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { projectRoot } from '../../../control/launch/paths.ts'
import type { Mount, Part } from './part.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json }

export interface Container {
  readonly name: string
  readonly image: string
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
  readonly readinessProbe?: { readonly periodSeconds: number; readonly failureThreshold: number }
  readonly [member: string]: unknown
}

export interface PodSpec {
  readonly containers: readonly Container[]
  readonly volumes?: readonly PodVolume[]
  readonly terminationGracePeriodSeconds?: number
  readonly securityContext?: { readonly [member: string]: unknown }
}

export interface PodVolume {
  readonly name: string
  readonly emptyDir?: { readonly medium?: string }
  readonly configMap?: { readonly name: string }
  readonly secret?: {
    readonly secretName: string
    readonly items?: readonly { readonly key: string; readonly path: string }[]
  }
}

/** A rendered object; its members are those of its kind. */
export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  readonly data?: Readonly<Record<string, string>>
  readonly spec: {
    readonly replicas?: number
    readonly minReplicas?: number
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> }
      readonly spec: PodSpec
    }
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[]
    readonly scaleTargetRef?: { readonly kind: string; readonly name: string }
  }
}

const WORKLOADS = ['StatefulSet', 'Deployment', 'Job']

/** The objects of an overlay of deploy/k8s, as kubectl renders them. */
export function renderOverlay(name: string): KubernetesObject[] {
  const folder = join(projectRoot, 'deploy/k8s/overlays', name)
  const text = execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' })
  return parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject)
}

export function workloads(objects: readonly KubernetesObject[]): KubernetesObject[] {
  return objects.filter(({ kind }) => WORKLOADS.includes(kind))
}

/** How many pods a workload begins with: those of its autoscaler where it has one. */
function countOf(workload: KubernetesObject, objects: readonly KubernetesObject[]): number {
  const { kind, metadata } = workload
  const scaler = objects.find(
    ({ spec }) => spec?.scaleTargetRef?.kind === kind && spec.scaleTargetRef.name === metadata.name,
  )
  return scaler?.spec.minReplicas ?? workload.spec.replicas ?? 1
}

/**
 * The pods of the image of Sluice.
 * @param secrets the folder with a folder for each Secret, which the operator makes
 * @param dir takes the files of config maps
 */
export function kubernetesParts(objects: readonly KubernetesObject[], secrets: string, dir: string): Part[] {
  return workloads(objects).flatMap((workload) => {
    const { spec } = workload.spec.template
    const container = spec.containers[0]
    if (!container?.image.startsWith('sluice')) return []
    return Array.from({ length: countOf(workload, objects) }, (_, i): Part => {
      const name = `${workload.metadata.name}-${i}`
      return {
        name,
        args: container.args ?? [],
        environment: environmentOf(container, objects),
        mounts: (container.volumeMounts ?? []).map(({ name: volume, mountPath: target }): Mount => {
          const given = spec.volumes?.find((one) => one.name === volume)
          if (given === undefined) return { target, kind: 'volume', source: `${volume}-${name}` }
          if (given.emptyDir !== undefined) return { target, kind: 'pod', source: volume }
          return { target, kind: 'path', source: folderOf(given, objects, secrets, dir) }
        }),
        stopGraceMs: (spec.terminationGracePeriodSeconds ?? 30) * 1_000,
      }
    })
  })
}

/** The variables of a container, with those of its config maps. */
export function environmentOf(
  { env, envFrom }: Container,
  objects: readonly KubernetesObject[],
): Record<string, string> {
  const own = (env ?? []).map(({ name, value }) => [name, value] as const)
  const shared = (envFrom ?? []).map(({ configMapRef }) => configMap(objects, configMapRef.name))
  return { ...Object.assign({}, ...shared), ...Object.fromEntries(own) }
}

function configMap(objects: readonly KubernetesObject[], name: string): Readonly<Record<string, string>> {
  const found = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name)
  if (found?.data === undefined) throw new Error(`no config map ${name}`)
  return found.data
}

function folderOf(volume: PodVolume, objects: readonly KubernetesObject[], secrets: string, dir: string): string {
  if (volume.secret !== undefined) return join(secrets, volume.secret.secretName)
  const name = volume.configMap?.name ?? ''
  const folder = join(dir, 'maps', name)
  mkdirSync(folder, { recursive: true })
  for (const [file, text] of Object.entries(configMap(objects, name))) writeFileSync(join(folder, file), text)
  return folder
}
