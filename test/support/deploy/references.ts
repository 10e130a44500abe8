import { type KubernetesObject, type PodSpec, workloads } from './kubernetes.ts'

type Labels = Readonly<Record<string, string>>

/** The members of a specification that name something else; which of them there are depends on the kind. */
interface Naming {
  readonly selector?: unknown
  readonly podSelector?: unknown
  readonly ports?: readonly { readonly name: string; readonly targetPort: string }[]
  readonly ingress?: readonly { readonly ports: readonly { readonly port: string }[] }[]
  readonly scaleTargetRef?: { readonly kind: string; readonly name: string }
  readonly serviceName?: string
  readonly endpoints?: readonly { readonly port: string }[]
}

interface Probe {
  readonly httpGet?: { readonly port: string }
  readonly tcpSocket?: { readonly port: string }
}

/** What the objects of a rendering name and do not have: labels, ports, config maps, volumes, services, targets. */
export function referenceFaults(objects: readonly KubernetesObject[]): string[] {
  const pods = workloads(objects)
  return [
    ...objects.flatMap((object) => selectionFaults(object, objects)),
    ...objects.flatMap((object) => portFaults(object, objects)),
    ...pods.flatMap((workload) => volumeFaults(workload, objects)),
    ...pods.flatMap((workload) => probeFaults(workload)),
  ].map(({ object, what }) => `${object.kind} ${object.metadata.name}: ${what}`)
}

interface Fault {
  readonly object: KubernetesObject
  readonly what: string
}

function selectionFaults(object: KubernetesObject, objects: readonly KubernetesObject[]): Fault[] {
  const { scaleTargetRef, serviceName } = namingOf(object)
  const faults: string[] = []
  const isSelecting = labelsOf(object) !== undefined && object.kind !== 'ServiceMonitor'
  if (isSelecting && chosenBy(object, objects).length === 0) faults.push('it selects no pod')
  if (scaleTargetRef !== undefined && !has(objects, scaleTargetRef.kind, scaleTargetRef.name)) {
    faults.push(`there is no ${scaleTargetRef.kind} ${scaleTargetRef.name}`)
  }
  if (serviceName !== undefined && !has(objects, 'Service', serviceName))
    faults.push(`there is no service ${serviceName}`)
  return faults.map((what) => ({ object, what }))
}

/** Ports that a service, a policy or a monitor names. */
function portFaults(object: KubernetesObject, objects: readonly KubernetesObject[]): Fault[] {
  const { ports = [], ingress = [], endpoints = [] } = namingOf(object)
  const chosen = chosenBy(object, objects).map(({ spec }) => spec.template.spec)
  const named = object.kind === 'Service' ? ports.map(({ targetPort }) => targetPort) : []
  const allowed = ingress.flatMap((rule) => rule.ports.map(({ port }) => port))
  const missing = [...named, ...allowed].filter((port) => !chosen.every((pod) => hasPort(pod, port)))
  const services = objects.filter((one) => one.kind === 'Service' && isChosen(labelsOf(object), one.metadata.labels))
  const unread = endpoints.filter(({ port }) => {
    return services.filter((service) => namingOf(service).ports?.some(({ name }) => name === port)).length !== 1
  })
  return [...missing, ...unread.map(({ port }) => port)].map((port) => ({ object, what: `there is no port ${port}` }))
}

function volumeFaults(object: KubernetesObject, objects: readonly KubernetesObject[]): Fault[] {
  const { spec } = object.spec.template
  const claims = (object.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name)
  const volumes = [...(spec.volumes ?? []).map(({ name }) => name), ...claims]
  const mounts = spec.containers.flatMap(({ volumeMounts }) => volumeMounts ?? []).map(({ name }) => name)
  const maps = [
    ...spec.containers.flatMap(({ envFrom }) => envFrom ?? []).map(({ configMapRef }) => configMapRef.name),
    ...(spec.volumes ?? []).flatMap(({ configMap }) => (configMap === undefined ? [] : [configMap.name])),
  ]
  return [
    ...mounts.filter((name) => !volumes.includes(name)).map((name) => `there is no volume ${name}`),
    ...volumes.filter((name) => !mounts.includes(name)).map((name) => `nothing mounts ${name}`),
    ...maps.filter((name) => !has(objects, 'ConfigMap', name)).map((name) => `there is no config map ${name}`),
  ].map((what) => ({ object, what }))
}

function probeFaults(object: KubernetesObject): Fault[] {
  const { spec } = object.spec.template
  const probes = spec.containers.flatMap((container) =>
    ['readinessProbe', 'livenessProbe', 'startupProbe'].map((name) => container[name] as Probe | undefined),
  )
  const ports = probes.map((probe) => probe?.httpGet?.port ?? probe?.tcpSocket?.port)
  const missing = ports.filter((port) => port !== undefined && !hasPort(spec, port))
  return missing.map((port) => ({ object, what: `a probe asks at no port ${port}` }))
}

function namingOf({ spec }: KubernetesObject): Naming {
  return (spec ?? {}) as unknown as Naming
}

function has(objects: readonly KubernetesObject[], kind: string, name: string): boolean {
  return objects.some((one) => one.kind === kind && one.metadata.name === name)
}

/** The labels that an object selects by. */
function labelsOf(object: KubernetesObject): Labels | undefined {
  const selector = namingOf(object).selector ?? namingOf(object).podSelector
  if (typeof selector !== 'object' || selector === null) return undefined
  return 'matchLabels' in selector ? (selector.matchLabels as Labels) : (selector as Labels)
}

function chosenBy(object: KubernetesObject, objects: readonly KubernetesObject[]): KubernetesObject[] {
  return workloads(objects).filter(({ spec }) => isChosen(labelsOf(object), spec.template.metadata.labels))
}

function isChosen(wanted: Labels | undefined, labels: Labels | undefined): boolean {
  return wanted !== undefined && Object.entries(wanted).every(([name, value]) => labels?.[name] === value)
}

function hasPort(spec: PodSpec, name: string): boolean {
  return spec.containers.some(({ ports }) => ports?.some((port) => port.name === name) === true)
}
