/** Ways between states or phases as a graph: what was taken, and how often. What might have been is faint. */
import { graphlib, layout } from '@dagrejs/dagre';
import { useMemo } from 'preact/hooks';
import { EDGES } from '../../src/core/machine.ts';
import { phaseEdges } from '../../src/core/plan/phase.ts';
import type { Answer } from '../api.ts';
import type { Detail } from './task.tsx';

const SIZE = { width: 104, height: 26 };

interface Way {
  from: string;
  to: string;
}

/** The ways out are everywhere; they are drawn where they were taken. */
const isOfCourse = ({ from, to }: Way): boolean =>
  from !== 'none' &&
  from !== to &&
  to !== 'abandoned' &&
  from !== 'abandoned' &&
  !(to === 'merged' && from !== 'merging');

/** The machine, as far as it concerns this task. */
export function Course({ detail: { timeline, state } }: { detail: Detail }) {
  const { path } = timeline;
  const isTaken = ({ from, to }: Way): boolean => path.some((one) => one.from === from && one.to === to);
  const ways = EDGES.filter((way) => isOfCourse(way) || isTaken(way)).filter(
    (way) => way.from !== 'none' && way.from !== way.to && (way.to !== 'completed' || isTaken(way)),
  );
  return <Graph ways={ways} path={path} now={state} />;
}

/** The phases of a plan. A way to the next milestone passes through a place of its own. */
export function Phases({ loop }: { loop: Answer<'loop.show'> }) {
  const path = Object.entries(loop.phases).map(([way, times]) => {
    const [from = '', to = ''] = way.split('→');
    return { from, to, times };
  });
  const next = path.find(({ to }) => to === 'next');
  if (next) path.push({ from: 'next', to: 'coding', times: next.times });
  const postAction =
    loop.phase === 'post_action' || path.some(({ from, to }) => [from, to].includes('post_action'));
  const ways: Way[] = phaseEdges({ milestones: loop.milestones.total, postAction });
  if (ways.some(({ to }) => to === 'next')) ways.push({ from: 'next', to: 'coding' });
  return <Graph ways={ways} path={path} now={loop.phase} names={{ next: 'next milestone' }} />;
}

function Graph({
  ways,
  path,
  now,
  names = {},
}: {
  ways: readonly Way[];
  path: readonly (Way & { times: number })[];
  now: string;
  /** Where they are not what they are called. */
  names?: Record<string, string>;
}) {
  const key = JSON.stringify([ways, path]);
  const drawn = useMemo(() => arranged(ways, path), [key]);
  const nameOf = (one: string): string => (names[one] ?? one).replaceAll('_', ' ');
  const said = path
    .map(({ from, to, times }) => `${nameOf(from)} to ${nameOf(to)}${times > 1 ? `, ${times} times` : ''}`)
    .join('; ');
  return (
    <svg
      class="graph"
      viewBox={`-4 -4 ${drawn.width + 8} ${drawn.height + 8}`}
      role="img"
      aria-label={`Its way so far: ${said || nameOf(now)}`}
    >
      <defs>
        <marker
          id="tip"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          markerUnits="userSpaceOnUse"
          orient="auto"
        >
          <path d="M0 0 8 4 0 8z" />
        </marker>
      </defs>
      {drawn.edges.map(({ from, to, points, times, label }) => (
        <g key={`${from} ${to}`} class={times > 0 ? 'way is-taken' : 'way'}>
          <path d={`M${points.map(({ x, y }) => `${x} ${y}`).join('L')}`} marker-end="url(#tip)" />
          {times > 1 && label && (
            <text x={label.x} y={label.y}>
              {times}×
            </text>
          )}
        </g>
      ))}
      {drawn.nodes.map(({ name, x, y }) => (
        <g
          key={name}
          class={`node is-${name} ${name === now ? 'is-now' : drawn.seen.has(name) ? 'is-seen' : ''}`}
        >
          <rect
            x={x - SIZE.width / 2}
            y={y - SIZE.height / 2}
            width={SIZE.width}
            height={SIZE.height}
            rx="5"
          />
          <text x={x} y={y + 4}>
            {nameOf(name)}
          </text>
        </g>
      ))}
    </svg>
  );
}

interface Point {
  x: number;
  y: number;
}

interface Drawn {
  width: number;
  height: number;
  seen: ReadonlySet<string>;
  nodes: ({ name: string } & Point)[];
  edges: { from: string; to: string; points: Point[]; label: Point | null; times: number }[];
}

function arranged(ways: readonly Way[], path: readonly (Way & { times: number })[]): Drawn {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: 18, ranksep: 26, edgesep: 10 });
  graph.setDefaultEdgeLabel(() => ({}));
  const taken = new Map(path.map(({ from, to, times }) => [`${from} ${to}`, times]));
  for (const { from, to } of ways) {
    graph.setNode(from, { ...SIZE });
    graph.setNode(to, { ...SIZE });
    graph.setEdge(from, to, { width: 20, height: 12, labelpos: 'r' });
  }
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    seen: new Set(path.flatMap(({ from, to }) => [from, to])),
    nodes: graph.nodes().map((name: string) => ({ name, ...(graph.node(name) as Point) })),
    edges: graph.edges().map(({ v: from, w: to }: { v: string; w: string }) => {
      const { points, x, y } = graph.edge(from, to) as { points: Point[] } & Partial<Point>;
      const label = x === undefined || y === undefined ? null : { x, y };
      return { from, to, points, label, times: taken.get(`${from} ${to}`) ?? 0 };
    }),
  };
}
