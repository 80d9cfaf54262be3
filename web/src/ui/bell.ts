/** Telling a person that something waits while they look elsewhere: a notification, a sound, both, or neither. */

export interface Tells {
  notification: boolean;
  sound: boolean;
}

const KEY = "rehearsal-tells";

export function readTells(): Tells {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Tells>;
    return { notification: kept.notification === true, sound: kept.sound === true };
  } catch {
    return { notification: false, sound: false };
  }
}

export function keepTells(tells: Tells): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(tells));
  } catch {
    // A browser may keep nothing; then it is asked again next time.
  }
}

/** Asks the browser for leave to notify; a person may say no. */
export async function mayNotify(): Promise<boolean> {
  if (typeof Notification === "undefined") return false;
  if (Notification.permission !== "default") return Notification.permission === "granted";
  return (await Notification.requestPermission()) === "granted";
}

/** Shows a notification once, in however many tabs it is asked for. */
export function notify(id: string, title: string, body: string, onChoose: () => void): void {
  if (typeof Notification === "undefined" || Notification.permission !== "granted") return;
  const shown = new Notification(title, { body, tag: id, icon: "/icon.svg" });
  shown.onclick = () => {
    window.focus();
    onChoose();
    shown.close();
  };
}

let audio: AudioContext | null = null;

/** Two short tones. A browser may keep silent until somebody has touched the page. */
export function ring(): void {
  if (typeof AudioContext === "undefined") return;
  audio ??= new AudioContext();
  void audio.resume().catch(() => {});
  const now = audio.currentTime;
  for (const [at, pitch] of [
    [0, 660],
    [0.16, 880],
  ] as const) {
    const tone = audio.createOscillator();
    const loudness = audio.createGain();
    tone.frequency.value = pitch;
    loudness.gain.setValueAtTime(0.0001, now + at);
    loudness.gain.exponentialRampToValueAtTime(0.15, now + at + 0.02);
    loudness.gain.exponentialRampToValueAtTime(0.0001, now + at + 0.15);
    tone.connect(loudness).connect(audio.destination);
    tone.start(now + at);
    tone.stop(now + at + 0.16);
  }
}
