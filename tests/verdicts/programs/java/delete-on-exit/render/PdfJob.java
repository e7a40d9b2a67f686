package render;
import java.io.File;
class PdfJob {
    static void spool(int n) {
        File f = new File("/var/spool/render/customers/quarterly-statements/region-" + n % 40 + "/pdf-job-" + n + "-" + Integer.toHexString(n * 7919) + "-attachment-preview.tmp");
        f.deleteOnExit();
        f.delete();
    }
}
