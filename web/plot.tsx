/** Values by day, or by whatever has a name, as bars. The same numbers stand in the table beside it. */
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';

interface Props {
  label: string;
  names: readonly string[];
  values: readonly (number | null)[];
  says(value: number): string;
}

const HEIGHT = 180;

export function Plot({ label, names, values, says }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const key = JSON.stringify([names, values]);
  useEffect(() => {
    const here = box.current;
    if (!here) return;
    const dark = matchMedia('(prefers-color-scheme: dark)');
    let plot: UPlot | null = null;
    const draw = (): void => {
      plot?.destroy();
      const ink = getComputedStyle(here);
      const [line, text, grid] = ['--accent', '--quiet', '--line'].map((name) =>
        ink.getPropertyValue(name).trim(),
      );
      const axis = {
        stroke: text!,
        grid: { stroke: grid!, width: 1 },
        ticks: { show: false },
        font: '12px system-ui',
      };
      plot = new UPlot(
        {
          width: here.clientWidth,
          height: HEIGHT,
          legend: { show: false },
          cursor: { show: false },
          scales: {
            x: { time: false, range: [-0.7, names.length - 0.3] },
            y: { range: (_, __, most) => [0, most * 1.1 || 1] },
          },
          axes: [
            {
              ...axis,
              grid: { show: false },
              values: (_, at) => at.map((n) => shortened(names[n] ?? '')),
              incrs: [1, 2, 5, 10, 30, 100],
            },
            { ...axis, size: 64, values: (_, at) => at.map(says) },
          ],
          series: [
            {},
            {
              fill: line!,
              stroke: line!,
              width: 0,
              points: { show: false },
              paths: UPlot.paths.bars!({ size: [0.7, 48] }),
            },
          ],
        },
        [names.map((_, at) => at), values.map((value) => value ?? 0)],
        here,
      );
    };
    draw();
    const resized = new ResizeObserver(() => plot?.setSize({ width: here.clientWidth, height: HEIGHT }));
    resized.observe(here);
    dark.addEventListener('change', draw);
    return () => {
      resized.disconnect();
      dark.removeEventListener('change', draw);
      plot?.destroy();
    };
  }, [key]);
  const said = names
    .map((name, at) => `${name}: ${values[at] === null ? 'unknown' : says(values[at] ?? 0)}`)
    .join(', ');
  return <div class="plot" ref={box} role="img" aria-label={`${label}. ${said}`} />;
}

/** What has room below a bar: of a day its month and day, of a long name its beginning. */
function shortened(name: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(name)) return name.slice(5);
  return name.length > MOST_CHARS ? `${name.slice(0, MOST_CHARS - 1)}…` : name;
}

const MOST_CHARS = 14;
