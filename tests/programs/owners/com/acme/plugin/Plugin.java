package com.acme.plugin;

/** Loaded by a loader of its own; keeps what it has in a static field. */
public final class Plugin implements Runnable {
    private static final Object[] PARTS = new Object[100];

    public void run() {
        for (int i = 0; i < PARTS.length; i++) PARTS[i] = new long[100];
    }
}
