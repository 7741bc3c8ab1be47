import type { ReactNode } from "react";

/** Icons of 16 px with a stroke of 1.5 px, drawn for this program. */
const shapes = {
  sort: <path d="m5.4 6 2.6-2.6L10.6 6M5.4 10l2.6 2.6L10.6 10" />,
  find: (
    <>
      <circle cx="7" cy="7" r="4.2" />
      <path d="m10.2 10.2 3.3 3.3" />
    </>
  ),
  home: (
    <>
      <path d="M2.5 7.2 8 2.8l5.5 4.4v5.6a.7.7 0 0 1-.7.7H3.2a.7.7 0 0 1-.7-.7z" />
      <path d="M6.3 13.4V9.6h3.4v3.8" />
    </>
  ),
  mail: (
    <>
      <rect x="2" y="3.5" width="12" height="9" rx="1.6" />
      <path d="m2.6 4.6 5.4 4.2 5.4-4.2" />
    </>
  ),
  stamp: (
    <path d="M3 13.6h10M4 11.2h8v-1a1.6 1.6 0 0 0-1.6-1.6H9.3c-.6-1.2-.2-1.9.2-2.8a2 2 0 1 0-3 0c.4.9.8 1.6.2 2.8H5.6A1.6 1.6 0 0 0 4 10.2z" />
  ),
  org: (
    <>
      <circle cx="8" cy="3.6" r="1.9" />
      <rect x="1.8" y="10" width="4" height="4" rx="1" />
      <rect x="10.2" y="10" width="4" height="4" rx="1" />
      <path d="M8 5.6v2.2M3.8 10V7.8h8.4V10" />
    </>
  ),
  target: (
    <>
      <circle cx="8" cy="8" r="5.8" />
      <circle cx="8" cy="8" r="2.2" />
    </>
  ),
  book: (
    <path d="M3 3.2c1.9-.6 3.6-.4 5 .7 1.4-1.1 3.1-1.3 5-.7v9.2c-1.9-.6-3.6-.4-5 .7-1.4-1.1-3.1-1.3-5-.7zM8 3.9v9.2" />
  ),
  coins: (
    <>
      <ellipse cx="8" cy="4.4" rx="5" ry="2" />
      <path d="M3 4.4v7.2c0 1.1 2.2 2 5 2s5-.9 5-2V4.4M3 8c0 1.1 2.2 2 5 2s5-.9 5-2" />
    </>
  ),
  pulse: <path d="M1.8 8h2.9l1.7-4.2 3.1 8.4L11.2 8h3" />,
  theme: (
    <>
      <circle cx="8" cy="8" r="5.6" />
      <path d="M8 2.4a5.6 5.6 0 0 1 0 11.2z" fill="currentColor" stroke="none" />
    </>
  ),
  menu: <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />,
  undo: <path d="M5.4 3.2 2.6 6l2.8 2.8M2.8 6h6.6a3.4 3.4 0 0 1 0 6.8H6.2" />,
  hire: (
    <>
      <rect x="2.4" y="2.6" width="7" height="7" rx="1.8" />
      <path d="M2 13.6c.5-1.4 1.9-2.2 3.9-2.2s3.4.8 3.9 2.2M12.6 5.4v4.4M10.4 7.6h4.4" />
    </>
  ),
  outline: <path d="M2.4 4h3M5.4 8h3M5.4 12h3M8 4h5.6M11 8h2.6M11 12h2.6" />,
  map: (
    <>
      <rect x="5.8" y="1.8" width="4.4" height="3.6" rx="1" />
      <rect x="1.6" y="10.4" width="4.4" height="3.6" rx="1" />
      <rect x="10" y="10.4" width="4.4" height="3.6" rx="1" />
      <path d="M8 5.4v2.4M3.8 10.4V7.8h8.4v2.6" />
    </>
  ),
  key: (
    <>
      <circle cx="5.2" cy="10.8" r="2.7" />
      <path d="m7.2 8.9 6-6M10.6 5.4l2 2M9 7l1.4 1.4" />
    </>
  ),
  plus: <path d="M8 3.2v9.6M3.2 8h9.6" />,
  minus: <path d="M3.2 8h9.6" />,
  expand: <path d="M2.6 5.6v-3h3M10.4 2.6h3v3M13.4 10.4v3h-3M5.6 13.4h-3v-3" />,
  more: (
    <>
      <circle cx="3.4" cy="8" r=".6" />
      <circle cx="8" cy="8" r=".6" />
      <circle cx="12.6" cy="8" r=".6" />
    </>
  ),
  cross: <path d="m4 4 8 8M12 4l-8 8" />,
  pause: <path d="M5.6 3.4v9.2M10.4 3.4v9.2" />,
  play: <path d="M5 3.2v9.6l7.4-4.8z" />,
  up: <path d="m3.8 9.8 4.2-4.2 4.2 4.2" />,
  down: <path d="m3.8 6.2 4.2 4.2 4.2-4.2" />,
  right: <path d="m6.2 3.8 4.2 4.2-4.2 4.2" />,
  path: (
    <>
      <circle cx="3.6" cy="12" r="1.6" />
      <circle cx="12.4" cy="4" r="1.6" />
      <path d="M5.2 12h4.2a2 2 0 0 0 0-4H6.6a2 2 0 0 1 0-4h4.2" />
    </>
  ),
  branch: (
    <>
      <circle cx="4.4" cy="3.6" r="1.6" />
      <circle cx="4.4" cy="12.4" r="1.6" />
      <circle cx="11.6" cy="5.6" r="1.6" />
      <path d="M4.4 5.2v5.6M11.6 7.2c0 2-1.8 2.4-4 2.6-1.6.2-3 .4-3.2 1" />
    </>
  ),
  file: (
    <>
      <path d="M4 1.9h5.2L12.6 5v9.1H4z" />
      <path d="M9 2v3.2h3.4" />
    </>
  ),
  link: (
    <path d="M6.6 9.4 9.4 6.6M7.2 4.9l1.6-1.6a2.7 2.7 0 0 1 3.9 3.9L11 8.8M8.8 11.1l-1.6 1.6a2.7 2.7 0 0 1-3.9-3.9L5 7.2" />
  ),
  lock: (
    <>
      <path d="M5 6.6V5a3 3 0 0 1 6 0v1.6" />
      <rect x="3.2" y="6.6" width="9.6" height="7" rx="1.6" />
      <path d="M8 9.4v1.6" />
    </>
  ),
  question: (
    <>
      <path d="M3 3.2h10a1 1 0 0 1 1 1v6.4a1 1 0 0 1-1 1H7.2L4 14v-2.4H3a1 1 0 0 1-1-1V4.2a1 1 0 0 1 1-1z" />
      <path d="M6.6 6.2c.2-1.8 2.9-1.6 2.8.1 0 1-1.4 1.1-1.4 2.1M8 10.1v.1" />
    </>
  ),
  verify: (
    <>
      <path d="M8 1.9 13 4v3.8c0 3-2 5.2-5 6.3-3-1.1-5-3.3-5-6.3V4z" />
      <path d="m5.7 8 1.7 1.7 3-3.3" />
    </>
  ),
  stop: (
    <>
      <path d="M5.2 1.9h5.6l3.3 3.3v5.6l-3.3 3.3H5.2l-3.3-3.3V5.2z" />
      <path d="M5.4 8h5.2" />
    </>
  ),
  hint: (
    <path d="M8 1.8a4.4 4.4 0 0 0-2.6 8c.5.4.8.9.8 1.5v.3h3.6v-.3c0-.6.3-1.1.8-1.5A4.4 4.4 0 0 0 8 1.8zM6.6 14h2.8" />
  ),
  send: <path d="M8 13V3.4M4 7.2l4-4 4 4" />,
  check: <path d="m3.2 8.4 3.2 3.2 6.4-7" />,
  edit: <path d="m10.6 2.9 2.5 2.5-7.4 7.4-3.1.6.6-3.1z" />,
  terminal: (
    <>
      <rect x="2" y="3" width="12" height="10" rx="1.6" />
      <path d="m4.6 6.2 2 1.8-2 1.8M8.2 10.2h3" />
    </>
  ),
  gear: (
    <>
      <circle cx="8" cy="8" r="2.1" />
      <path d="M8 1.8v1.9M8 12.3v1.9M1.8 8h1.9M12.3 8h1.9M3.6 3.6l1.4 1.4M11 11l1.4 1.4M3.6 12.4 5 11M11 5l1.4-1.4" />
    </>
  ),
  clock: (
    <>
      <circle cx="8" cy="8" r="5.8" />
      <path d="M8 4.8V8l2 1.6" />
    </>
  ),
  out: <path d="M9.4 3.2h3.4v3.4M12.6 3.4 7.4 8.6M6.6 3.6H3.2v9.2h9.2V9.4" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof shapes;

export function Icon({ name, className = "" }: { name: IconName; className?: string }): ReactNode {
  return (
    <svg className={`ico ${className}`} viewBox="0 0 16 16" aria-hidden="true">
      {shapes[name]}
    </svg>
  );
}

/** The mark of the program: a person above two agents. */
export function Mark(): ReactNode {
  return (
    <svg className="mark" viewBox="0 0 22 22" aria-hidden="true">
      <rect width="22" height="22" rx="6" fill="currentColor" />
      <g fill="var(--paper)">
        <circle cx="11" cy="6.6" r="2.5" />
        <rect x="4.6" y="13" width="4.6" height="4.6" rx="1.3" />
        <rect x="12.8" y="13" width="4.6" height="4.6" rx="1.3" />
      </g>
      <path d="M11 9v2.2M6.9 13v-1.8h8.2V13" stroke="var(--paper)" strokeWidth="1.2" fill="none" />
    </svg>
  );
}
