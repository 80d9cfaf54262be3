/** Icons, drawn here so that none is fetched. They are decoration: a word stands beside each. */

const PATHS = {
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-8 8c0-3.5 3.6-6 8-6s8 2.5 8 6",
  call: "M14.7 6.3a4.5 4.5 0 0 0-5.9 5.9L3.5 17.5l3 3 5.3-5.3a4.5 4.5 0 0 0 5.9-5.9l-2.8 2.8-3-3 2.8-2.8Z",
  output: "M4 12l5 5L20 6",
  error: "M12 8v5m0 3v.5M10.3 3.9 2.5 18a2 2 0 0 0 1.7 3h15.6a2 2 0 0 0 1.7-3L13.7 3.9a2 2 0 0 0-3.4 0Z",
  final: "M12 3l2.7 5.6 6.1.8-4.4 4.3 1 6.1-5.4-2.9-5.4 2.9 1-6.1L3.2 9.4l6.1-.8L12 3Z",
  model: "M12 3v3M5 9h14v9a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2V9Zm4 4v1m6-1v1M3 12v4m18-4v4",
  state: "M4 6h16M4 12h16M4 18h10",
  note: "M5 4h14v16l-4-3H5V4Z",
  wait: "M12 7v5l3 2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z",
  copy: "M9 9h11v11H9V9Zm-5 6V4h11",
  link: "M10 14a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1-1",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  cross: "M6 6l12 12M18 6L6 18",
  up: "M12 19V5m-6 6 6-6 6 6",
  down: "M12 5v14m-6-6 6 6 6-6",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Zm5-1.5L21 21",
  export: "M12 3v12m-5-5 5 5 5-5M4 21h16",
  play: "M7 4l13 8-13 8V4Z",
  pause: "M9 5v14M15 5v14",
  stop: "M6 6h12v12H6V6Z",
  info: "M12 11v6m0-9.5V8M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z",
  bell: "M6 16V10a6 6 0 0 1 12 0v6l2 2H4l2-2Zm4 5h4",
  bellOff: "M6 16V10a6 6 0 0 1 12 0v6l2 2H4l2-2Zm4 5h4M4 3l17 18",
  chevron: "M9 6l6 6-6 6",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
