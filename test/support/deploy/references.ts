import type { KubernetesObject } from './kubernetes.ts'
import { type PodSpec, workloads } from './kubernetes.ts'

type Labels = Readonly<Record<string, string>>

/** What the objects of a rendering name and do not have: labels, ports, config maps, volumes, services, targets. */
export function referenceFaults(objects: readonly KubernetesObject[]): string[] {
  const pods = workloads(objects).map(({ spec }) => spec.template)
  const has = (kind: string, name: string): boolean =>
    objects.some((one) => one.kind === kind && one.metadata.name === name)
  const faults: string[] = []
  const expect = (holds: boolean, what: string): void => void (holds || faults.push(what))
  for (const object of objects) {
    const place = `${object.kind} ${object.metadata.name}`
    const spec = object.spec as unknown as Record<string, never> | undefined
    const { selector, podSelector, ports, scaleTargetRef, serviceName, endpoints } = spec ?? {}
    const labels: Labels | undefined = matched(selector) ?? matched(podSelector)
    const chosen = pods.filter(({ metadata }) => isChosen(labels, metadata.labels))
    const isMonitor = object.kind === 'ServiceMonitor'
    if (labels !== undefined && !isMonitor) expect(chosen.length > 0, `${place} selects no pod`)
    if (object.kind === 'Service') {
      for (const port of (ports ?? []) as { targetPort: string }[]) {
        expect(
          chosen.every((pod) => hasPort(pod.spec, port.targetPort)),
          `${place}: no port ${port.targetPort}`,
        )
      }
    }
    if (object.kind === 'NetworkPolicy') {
      const rules = (spec?.['ingress'] ?? []) as { ports: { port: string }[] }[]
      for (const { port } of rules.flatMap((rule) => rule.ports)) {
        expect(
          chosen.every((pod) => hasPort(pod.spec, port)),
          `${place}: no port ${port}`,
        )
      }
    }
    if (isMonitor) {
      const services = objects.filter(({ kind, metadata }) => kind === 'Service' && isChosen(labels, metadata.labels))
      for (const { port } of (endpoints ?? []) as { port: string }[]) {
        const found = services.filter((one) => namesOf(one).includes(port))
        expect(found.length === 1, `${place}: ${found.length} services have the port ${port}`)
      }
    }
    if (scaleTargetRef !== undefined) {
      const { kind, name } = scaleTargetRef as { kind: string; name: string }
      expect(has(kind, name), `${place}: no ${kind} ${name}`)
    }
    if (serviceName !== undefined) expect(has('Service', serviceName), `${place}: no service ${serviceName}`)
  }
  for (const workload of workloads(objects)) {
    const place = `${workload.kind} ${workload.metadata.name}`
    const { spec } = workload.spec.template
    const claims = (workload.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name)
    const volumes = [...(spec.volumes ?? []).map(({ name }) => name), ...claims]
    const mounts = spec.containers.flatMap(({ volumeMounts }) => volumeMounts ?? []).map(({ name }) => name)
    for (const name of mounts) expect(volumes.includes(name), `${place}: no volume ${name}`)
    for (const name of volumes) expect(mounts.includes(name), `${place}: nothing mounts ${name}`)
    const maps = [
      ...spec.containers.flatMap(({ envFrom }) => envFrom ?? []).map(({ configMapRef }) => configMapRef.name),
      ...(spec.volumes ?? []).flatMap(({ configMap }) => (configMap === undefined ? [] : [configMap.name])),
    ]
    for (const name of maps) expect(has('ConfigMap', name), `${place}: no config map ${name}`)
    for (const container of spec.containers) {
      for (const probe of ['readinessProbe', 'livenessProbe', 'startupProbe']) {
        const given = container[probe] as { httpGet?: { port: string }; tcpSocket?: { port: string } } | undefined
        const port = given?.httpGet?.port ?? given?.tcpSocket?.port
        if (port !== undefined) expect(hasPort(spec, port), `${place}: ${probe} asks at no port ${port}`)
      }
    }
  }
  return faults
}

function matched(selector: unknown): Labels | undefined {
  if (typeof selector !== 'object' || selector === null) return undefined
  return 'matchLabels' in selector ? (selector.matchLabels as Labels) : (selector as Labels)
}

function isChosen(wanted: Labels | undefined, labels: Labels | undefined): boolean {
  return wanted !== undefined && Object.entries(wanted).every(([name, value]) => labels?.[name] === value)
}

function hasPort(spec: PodSpec, name: string): boolean {
  return spec.containers.some(({ ports }) => ports?.some((port) => port.name === name) === true)
}

function namesOf({ spec }: KubernetesObject): string[] {
  return (spec as unknown as { ports: { name: string }[] }).ports.map(({ name }) => name)
}
