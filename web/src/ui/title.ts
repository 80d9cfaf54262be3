import { useEffect } from "react";

let room = "";
let waiting = "";

const show = () => {
  document.title = `${waiting === "" ? "" : `(${waiting}) `}${room} · Rehearsal`;
};

/** Says in the browser's tab which room this is. */
export function useTitle(title: string): void {
  useEffect(() => {
    room = title;
    show();
  }, [title]);
}

/** Says in the browser's tab how much waits, whichever room is open; nothing where nothing does. */
export function useWaitingInTitle(count: string): void {
  useEffect(() => {
    waiting = count;
    if (room !== "") show();
    return () => {
      waiting = "";
    };
  }, [count]);
}
