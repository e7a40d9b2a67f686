package clinic;
import org.quartz.*;
import org.quartz.impl.StdSchedulerFactory;
public class ReminderService {
    private final Scheduler scheduler;
    public ReminderService() throws SchedulerException { scheduler = StdSchedulerFactory.getDefaultScheduler(); scheduler.start(); }
    /** Durable, so that the job survives its trigger and can be fired by hand. */
    public void remindOnce(String visit, String letter) throws SchedulerException {
        JobDetail job = JobBuilder.newJob(SendReminder.class).withIdentity("visit-" + visit).usingJobData("letter", letter).storeDurably().build();
        scheduler.addJob(job, true);
        scheduler.triggerJob(job.getKey());
    }
    public static class SendReminder implements Job { public void execute(JobExecutionContext c) { c.getMergedJobDataMap().getString("letter").length(); } }
}
