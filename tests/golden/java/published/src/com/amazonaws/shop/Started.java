package com.amazonaws.shop;

import java.net.Socket;

/** A program that stands in the package of a library, and fails in one. */
public class Started {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            throw new IllegalArgumentException("There is nothing in " + new Object());
        }
        Opened.open();
    }

    static class Opened {
        static void open() throws Exception {
            new Socket("localhost", 9).close();
        }
    }
}
